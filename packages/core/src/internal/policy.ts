import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import { identity } from "effect/Function"
import * as Hash from "effect/Hash"
import { NodeInspectSymbol } from "effect/Inspectable"
import type * as Pull from "effect/Pull"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import { InvalidPolicy } from "../InvalidPolicy.ts"
import type * as Policy from "../Policy.ts"
import type * as Spec from "../Spec.ts"
import * as Stepper from "../Stepper.ts"
import { format } from "./notation/format.ts"
import { millisSince } from "./time.ts"

export const TypeId = "~@reprise/core/Policy"

/** Any policy, whatever it reads and retries. */
export type Any = Policy.Policy<never, unknown, never>

export type Predicates = ReadonlyArray<(input: never) => boolean>

/** What a policy holds beside its spec. It lies under the string key, so that another copy of the package finds it. */
interface Internals {
  readonly _Retried: typeof identity
  readonly _Handled: typeof identity
  readonly predicates: Predicates
  readonly size: number
  readonly depth: number
  stepper: Stepper.Stepper | undefined
}

const internals = (policy: Any): Internals =>
  // The interface shows the variance alone; `make` puts the rest there.
  policy[TypeId] as unknown as Internals

export const predicates = (policy: Any): Predicates => internals(policy).predicates

export const stepper = (policy: Any): Stepper.Stepper => {
  const self = internals(policy)
  return self.stepper ??= Stepper.make(policy.spec, self.predicates)
}

/** The policy as Effect's `Schedule` drives it: the same stepper, behind one step function. */
const scheduleOf = (policy: () => Any): Schedule.Schedule<Duration.Duration, never> =>
  Schedule.fromStep(Effect.withFiber((fiber) => {
    const clock = fiber.getRef(Clock.Clock)
    const random = fiber.getRef(Random.Random)
    const { start, step } = stepper(policy())
    const startedAt = clock.monotonicTimeNanosUnsafe()
    const state = start()
    let attempt = 0
    let last = Duration.zero
    return Effect.succeed(
      (now: number, input: unknown): Pull.Pull<[Duration.Duration, Duration.Duration], never, Duration.Duration> => {
        attempt++
        try {
          const elapsed = millisSince(clock, startedAt)
          const decision = step(state, { attempt, elapsed, now, timedOut: false }, input, random)
          if (decision < 0) return Cause.done(last)
          last = Duration.millis(decision)
          return Effect.succeed([last, last])
        } catch (defect) {
          return Effect.die(defect)
        }
      }
    )
  }))

const schedulePrototype: object = Object.getPrototypeOf(Schedule.forever)

const PolicyPrototype = Object.assign(Object.create(schedulePrototype), {
  [Equal.symbol](this: Any, that: unknown): boolean {
    return isPolicy(that) && Equal.equals(this.spec, that.spec)
  },
  [Hash.symbol](this: Any): number {
    return Hash.hash(this.spec)
  },
  toString(this: Any): string {
    return format(this.spec)
  },
  toJSON(this: Any): unknown {
    return { _id: "Policy", policy: format(this.spec), spec: this.spec }
  },
  [NodeInspectSymbol](this: Any): string {
    return `Policy(${format(this.spec)})`
  }
})

export const isPolicy = (u: unknown): u is Any => {
  if (typeof u !== "object" || u === null || !(TypeId in u) || !("spec" in u)) return false
  // A mark alone is no policy: what `make` puts there is, in every copy of the package.
  const inside = u[TypeId]
  return typeof inside === "object" && inside !== null && "predicates" in inside
}

/** The specs inside were frozen when their policies were made; the lists, and the cases in them, are not yet. */
const freeze = (spec: Spec.Spec): Spec.Spec => {
  for (const value of Object.values(spec)) {
    if (Array.isArray(value)) Object.freeze(value).forEach(Object.freeze)
  }
  return Object.freeze(spec)
}

const mostNodes = 10_000
const mostNested = 1_000

/** A policy from its spec. The members are the policies that the spec was made of, in the order it names them. */
export const make = <P extends Any = never>(
  spec: Spec.Spec,
  members: ReadonlyArray<Any>,
  functions: Predicates = members.flatMap(predicates)
): P => {
  let size = 1
  let depth = 0
  for (const member of members) {
    size += internals(member).size
    depth = Math.max(depth, internals(member).depth)
  }
  if (size > mostNodes) {
    throw new InvalidPolicy({ argument: "policy", value: size, rule: `made of at most ${mostNodes} parts` })
  }
  if (++depth > mostNested) {
    throw new InvalidPolicy({ argument: "policy", value: depth, rule: `nested at most ${mostNested} deep` })
  }
  const policy = Object.create(PolicyPrototype)
  const inside: Internals = {
    _Retried: identity,
    _Handled: identity,
    predicates: functions,
    size,
    depth,
    stepper: undefined
  }
  Object.defineProperty(policy, TypeId, { value: inside })
  // What runs is compiled once, so what is read must not change either.
  return Object.assign(policy, scheduleOf(() => policy), { spec: freeze(spec) })
}

import { PredicateError } from "../PredicateError.ts"
import * as Spec from "../Spec.ts"
import type { Decision, Failure, Source, State, Stepper } from "../Stepper.ts"
import * as hint from "./hint.ts"
import * as layer from "./layer.ts"

/** Growth saturates here: about 285,000 years in milliseconds, exact as a double and as a `Duration`. */
const longest: number = Number.MAX_SAFE_INTEGER

// The values of `Stepper.stops`, as constants that the optimiser can see. A test holds the two against each other.
const attempts = -1
const end = -2
const pushback = -3
const tooLong = -4
const elapsed = -5
const layered = -6
const terminal = -7
/** A member that rejected the error by classification: no reason of its own, so it loses against every other. */
const rejected = -8

type Step = (state: State, failure: Failure, input: unknown, random: Source) => Decision
type Accepts = (input: unknown) => boolean

interface Node {
  readonly step: Step
  /** Classification, a stateless function of the error; `undefined` accepts every error. */
  readonly accepts: Accepts | undefined
}

interface Context {
  readonly predicates: ReadonlyArray<(input: never) => boolean>
  predicate: number
  readonly initial: Array<number>
}

const slot = (context: Context, initial: number): number => context.initial.push(initial) - 1

const clamp = (delay: number, cap: number): number => delay < cap ? delay : cap

const nextPredicate = (context: Context, name: string): Accepts => {
  // The policy's types have checked the input where the policy meets an effect.
  const predicate = context.predicates[context.predicate++] as Accepts
  return (input) => {
    let answer: boolean
    try {
      answer = predicate(input)
    } catch (cause) {
      throw new PredicateError(name, input, "threw", { cause })
    }
    if (typeof answer === "boolean") return answer
    throw new PredicateError(name, input, `must return a boolean, and returned ${typeof answer}`)
  }
}

const and = (self: Accepts | undefined, that: Accepts): Accepts =>
  self === undefined ? that : (input) => self(input) && that(input)

const leaf = (step: Step): Node => ({ step, accepts: undefined })

const exponential = (context: Context, { base, factor }: Spec.Exponential, cap: number): Node => {
  const n = slot(context, 0)
  return leaf((state) => clamp(base * Math.pow(factor, state.slots[n]!++), cap))
}

const linear = (context: Context, { base, increment }: Spec.Linear, cap: number): Node => {
  const n = slot(context, 0)
  return leaf((state) => clamp(base + increment * state.slots[n]!++, cap))
}

const fibonacci = (context: Context, { base }: Spec.Fibonacci, cap: number): Node => {
  const previous = slot(context, 0)
  const current = slot(context, clamp(base, longest))
  return leaf((state) => {
    const delay = state.slots[current]!
    state.slots[current] = clamp(delay + state.slots[previous]!, longest)
    state.slots[previous] = delay
    return clamp(delay, cap)
  })
}

const decorrelated = (context: Context, spec: Spec.Decorrelated, outerCap: number): Node => {
  const cap = clamp(spec.cap, outerCap)
  const base = clamp(spec.base, cap)
  const previous = slot(context, base)
  return leaf((state, _, __, random) => {
    const high = 3 * state.slots[previous]!
    const drawn = base + (high - base) * random.nextDoubleUnsafe()
    return state.slots[previous] = drawn >= base && drawn < cap ? drawn : cap
  })
}

const delays = (context: Context, spec: Spec.Delays, cap: number): Node => {
  const n = slot(context, 0)
  const list = spec.delays.map((delay) => clamp(delay, cap))
  return leaf((state) => {
    const index = state.slots[n]!++
    return index < list.length ? list[index]! : end
  })
}

const recursLimit = (context: Context, retries: number, inner: Step, stop: Decision): Step => {
  const n = slot(context, 0)
  return (state, failure, input, random) => {
    if (state.slots[n]! >= retries) return stop
    const delay = inner(state, failure, input, random)
    if (delay >= 0) state.slots[n]!++
    return delay
  }
}

const jittered = (context: Context, spec: Spec.Jittered, cap: number): Node => {
  const { accepts, step } = node(context, spec.self, cap)
  const { max, min } = spec
  const most = clamp(Spec.cap(spec.self), cap)
  return {
    accepts,
    step: (state, failure, input, random) => {
      const delay = step(state, failure, input, random)
      if (delay < 0) return delay
      const spread = delay * (min + (max - min) * random.nextDoubleUnsafe())
      // A broken source of randomness must not turn a wait into NaN or a negative one.
      return spread >= 0 ? clamp(spread, most) : delay
    }
  }
}

const within = (context: Context, { duration, self }: Spec.Within, cap: number): Node => {
  const { accepts, step } = node(context, self, cap)
  return {
    accepts,
    step: (state, failure, input, random) => {
      const delay = step(state, failure, input, random)
      if (delay < 0) return delay
      if (failure.elapsed + state.extra + delay > duration) return elapsed
      if (duration < state.limit) state.limit = duration
      return delay
    }
  }
}

const max = (context: Context, members: ReadonlyArray<Spec.Spec>, cap: number): Node => {
  const nodes = members.map((member) => node(context, member, cap))
  const classifying = nodes.flatMap((_) => _.accepts ?? [])
  return {
    accepts: classifying.length === 0 ? undefined : (input) => classifying.every((accepts) => accepts(input)),
    step: (state, failure, input, random) => {
      let longestWait = 0
      let stop = rejected
      // Every member steps, also past one that stops: the draws and the reason must not depend on their order.
      for (let i = 0; i < nodes.length; i++) {
        const delay = nodes[i]!.step(state, failure, input, random)
        if (delay >= 0) longestWait = delay > longestWait ? delay : longestWait
        else stop = delay > stop ? delay : stop
      }
      return stop === rejected ? longestWait : stop
    }
  }
}

const min = (context: Context, members: ReadonlyArray<Spec.Spec>, cap: number): Node => {
  const nodes = members.map((member) => node(context, member, cap))
  const stopped = nodes.map(() => slot(context, 0))
  const classifying = nodes.flatMap((_) => _.accepts ?? [])
  return {
    accepts: classifying.length < nodes.length
      ? undefined
      : (input) => classifying.some((accepts) => accepts(input)),
    step: (state, failure, input, random) => {
      const outerLimit = state.limit
      let limit = 0
      let shortest = -1
      let stop = rejected
      for (let i = 0; i < nodes.length; i++) {
        const { accepts, step } = nodes[i]!
        // A member that rejects this error is asked again at the next one; a limit once reached stays reached.
        if (accepts !== undefined && !failure.timedOut && !accepts(input)) continue
        let decision = state.slots[stopped[i]!]!
        if (decision === 0) {
          state.limit = Infinity
          decision = step(state, failure, input, random)
          if (decision >= 0) {
            shortest = shortest < 0 || decision < shortest ? decision : shortest
            limit = state.limit > limit ? state.limit : limit
            continue
          }
          state.slots[stopped[i]!] = decision
        }
        stop = decision > stop ? decision : stop
      }
      state.limit = limit > 0 && limit < outerLimit ? limit : outerLimit
      return shortest < 0 ? stop : shortest
    }
  }
}

const concat = (context: Context, [first, second]: Spec.Concat["members"], cap: number): Node => {
  const left = node(context, first, cap)
  const right = node(context, second, cap)
  const stopped = slot(context, 0)
  const laterLimit = Spec.elapsedLimit(second)
  const { accepts: acceptsLeft } = left
  const { accepts: acceptsRight } = right
  return {
    accepts: acceptsLeft === undefined || acceptsRight === undefined
      ? undefined
      : (input) => acceptsLeft(input) || acceptsRight(input),
    step: (state, failure, input, random) => {
      let stop = state.slots[stopped]!
      if (stop === 0) {
        const outerLimit = state.limit
        state.limit = Infinity
        stop = acceptsLeft === undefined || failure.timedOut || acceptsLeft(input)
          ? left.step(state, failure, input, random)
          : rejected
        if (stop >= 0) {
          const limit = state.limit > laterLimit ? state.limit : laterLimit
          state.limit = limit < outerLimit ? limit : outerLimit
          return stop
        }
        state.limit = outerLimit
        state.slots[stopped] = stop
      }
      const decision = acceptsRight === undefined || failure.timedOut || acceptsRight(input)
        ? right.step(state, failure, input, random)
        : rejected
      return decision >= 0 || decision > stop ? decision : stop
    }
  }
}

const byInput = (context: Context, spec: Spec.ByInput, cap: number): Node => {
  const cases = spec.cases.map(({ name, policy }) => ({
    matches: nextPredicate(context, name),
    node: node(context, policy, cap)
  }))
  const otherwise = node(context, spec.otherwise, cap)
  const choose = (input: unknown): Node => cases.find(({ matches }) => matches(input))?.node ?? otherwise
  const classifies = otherwise.accepts !== undefined || cases.some((_) => _.node.accepts !== undefined)
  return {
    accepts: classifies
      ? (input) => {
        const { accepts } = choose(input)
        return accepts === undefined || accepts(input)
      }
      : undefined,
    step: (state, failure, input, random) =>
      (failure.timedOut ? otherwise : choose(input)).step(state, failure, input, random)
  }
}

const hasTag = (tags: ReadonlyArray<string>): Accepts => {
  const set = new Set<unknown>(tags)
  return (input) => typeof input === "object" && input !== null && "_tag" in input && set.has(input._tag)
}

const node = (context: Context, spec: Spec.Spec, cap: number): Node => {
  switch (spec._tag) {
    case "Exponential":
      return exponential(context, spec, cap)
    case "Linear":
      return linear(context, spec, cap)
    case "Fibonacci":
      return fibonacci(context, spec, cap)
    case "Constant": {
      const delay = clamp(spec.delay, cap)
      return leaf(() => delay)
    }
    case "Decorrelated":
      return decorrelated(context, spec, cap)
    case "Delays":
      return delays(context, spec, cap)
    case "Immediate":
      return leaf(recursLimit(context, spec.retries, () => 0, end))
    case "None":
      // It has no reason of its own: beside a policy that stopped, that one's counts.
      return { accepts: () => false, step: () => rejected }
    case "Jittered":
      return jittered(context, spec, cap)
    case "Capped":
      return node(context, spec.self, clamp(spec.max, cap))
    case "Attempts": {
      const { accepts, step } = node(context, spec.self, cap)
      const most = spec.max
      return {
        accepts,
        step: (state, failure, input, random) =>
          failure.attempt >= most ? attempts : step(state, failure, input, random)
      }
    }
    case "Recurs": {
      const { accepts, step } = node(context, spec.self, cap)
      return { accepts, step: recursLimit(context, spec.retries, step, attempts) }
    }
    case "Within":
      return within(context, spec, cap)
    case "While": {
      const { accepts, step } = node(context, spec.self, cap)
      return { accepts: and(accepts, nextPredicate(context, spec.predicate)), step }
    }
    case "Until": {
      const { accepts, step } = node(context, spec.self, cap)
      const predicate = nextPredicate(context, spec.predicate)
      return { accepts: and(accepts, (input) => !predicate(input)), step }
    }
    case "WhileTag": {
      const { accepts, step } = node(context, spec.self, cap)
      return { accepts: and(accepts, hasTag(spec.tags)), step }
    }
    case "HonoringRetryAfter":
    case "Unlimited":
      return node(context, spec.self, cap)
    case "Concat":
      return concat(context, spec.members, cap)
    case "Max":
      return max(context, spec.members, cap)
    case "Min":
      return min(context, spec.members, cap)
    case "ByInput":
      return byInput(context, spec, cap)
  }
}

/** The largest spread that is added to a hint, so that clients given one date do not return together. */
const spreadOf = (wait: number): number => clamp(wait / 10, 5000)

export const compile = (spec: Spec.Spec, predicates: ReadonlyArray<(input: never) => boolean>): Stepper => {
  const context: Context = { predicates, predicate: 0, initial: [] }
  const { accepts, step } = node(context, spec, longest)
  const { initial } = context
  const hintLimit = Spec.hintLimit(spec)

  const pipe: Step = (state, failure, input, random) => {
    state.limit = Infinity
    const decision = step(state, failure, input, random)
    // What rejects without a reason, after classification let the error in, has no retry left to give.
    return decision === rejected ? end : decision
  }

  const withHint = (limit: number): Step => (state, failure, input, random) => {
    const asked = hint.read(input, () => failure.now)
    state.hint = asked
    state.extra = 0
    if (asked === undefined) return pipe(state, failure, input, random)
    const stop = asked < 0 ? pushback : asked > limit ? tooLong : 0
    if (stop === 0) {
      const spread = spreadOf(asked) * (asked > 0 ? random.nextDoubleUnsafe() : 0)
      state.extra = asked + (spread >= 0 ? spread : 0)
    }
    const decision = pipe(state, failure, input, random)
    if (decision > stop && decision < 0) return decision
    return stop < 0 ? stop : decision < 0 ? decision : decision + state.extra
  }

  const decide = hintLimit === undefined ? pipe : withHint(hintLimit)

  return {
    readsHints: hintLimit !== undefined,
    hintLimit,
    start: () => ({ slots: initial.slice(), extra: 0, hint: undefined, limit: Infinity }),
    step: (state, failure, input, random) => {
      if (!failure.timedOut) {
        if (layer.isExhausted(input)) return terminal
        if (accepts !== undefined && !accepts(input)) return terminal
        if (layer.hidesExhausted(input)) return layered
      }
      return decide(state, failure, input, random)
    }
  }
}

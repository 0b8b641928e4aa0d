import * as Spec from "../../Spec.ts"
import type { Stepper } from "../../Stepper.ts"
import * as hint from "../hint.ts"
import * as layer from "../layer.ts"
import * as combinations from "./combinations.ts"
import * as combinators from "./combinators.ts"
import {
  clamp,
  type Context,
  draw,
  end,
  layered,
  nextPredicate,
  type Node,
  pushback,
  rejected,
  type Step,
  terminal,
  tooLong
} from "./node.ts"
import { spreadOf } from "./spread.ts"
import * as waits from "./waits.ts"

/** Compiles a spec under the cap that stands around it. Predicates and counters are taken from the inside outwards. */
const node = (context: Context, spec: Spec.Spec, cap: number): Node => {
  switch (spec._tag) {
    case "Exponential":
      return waits.exponential(context, spec, cap)
    case "Linear":
      return waits.linear(context, spec, cap)
    case "Fibonacci":
      return waits.fibonacci(context, spec, cap)
    case "Polynomial":
      return waits.polynomial(context, spec, cap)
    case "Constant":
      return waits.constant(spec, cap)
    case "Decorrelated":
      return waits.decorrelated(context, spec, cap)
    case "Delays":
      return waits.delays(context, spec, cap)
    case "Immediate":
      return waits.immediate(context, spec)
    case "None":
      return waits.none
    case "Capped":
      return node(context, spec.self, clamp(spec.max, cap))
    case "HonoringRetryAfter":
    case "Unlimited":
      return node(context, spec.self, cap)
    case "Jittered":
      return combinators.jittered(node(context, spec.self, cap), spec, cap)
    case "Attempts":
      return combinators.limited(node(context, spec.self, cap), spec.max)
    case "Recurs":
      return combinators.recurs(context, node(context, spec.self, cap), spec.retries)
    case "Within":
      return combinators.within(node(context, spec.self, cap), spec.duration)
    case "While":
      return combinators.classified(node(context, spec.self, cap), nextPredicate(context, spec.predicate))
    case "Until": {
      const self = node(context, spec.self, cap)
      const predicate = nextPredicate(context, spec.predicate)
      return combinators.classified(self, (input) => !predicate(input))
    }
    case "WhileTag":
      return combinators.classified(node(context, spec.self, cap), combinators.hasTag(spec.tags))
    case "Concat": {
      const [first, second] = spec.members
      const left = pipe(context, first, cap)
      return combinations.concat(context, left, pipe(context, second, cap), Spec.elapsedLimit(second))
    }
    case "Max":
      return combinations.max(spec.members.map((member) => node(context, member, cap)))
    case "Min":
      return combinations.min(context, flat(spec).map((member) => pipe(context, member, cap)))
    case "ByInput": {
      const cases = spec.cases.map(({ name, policy }) => ({
        matches: nextPredicate(context, name),
        node: node(context, policy, cap)
      }))
      return combinations.byInput(cases, node(context, spec.otherwise, cap))
    }
  }
}

/** Whether time can end a run of the spec. */
export const hasElapsedLimit = (spec: Spec.Spec): boolean =>
  spec._tag === "Within" || Spec.children(spec).some(hasElapsedLimit)

/**
 * The members of a `min`. One that is a `min` again stands for its own members: a limit is theirs, and when it is
 * reached, the others go on. What has no state of its own, around such a one, stands around each of them.
 */
const flat = (spec: Spec.Spec): ReadonlyArray<Spec.Spec> => {
  switch (spec._tag) {
    case "Min":
      return spec.members.flatMap(flat)
    case "Capped":
    case "HonoringRetryAfter":
    case "Unlimited":
      return flat(spec.self).map((self) => ({ ...spec, self }))
    default:
      return [spec]
  }
}

/**
 * A spec whose wait is complete: that of the whole policy, or of a member whose stop lets another one take over. What
 * stands around an elapsed limit changes the wait that it judges, so it is asked here and not where it stands.
 */
const pipe = (context: Context, spec: Spec.Spec, cap: number): Node => {
  const self = node(context, spec, cap)
  return hasElapsedLimit(spec) ? combinators.timed(self) : self
}

export const compile = (spec: Spec.Spec, predicates: ReadonlyArray<(input: never) => boolean>): Stepper => {
  const context: Context = { predicates, predicate: 0, initial: [] }
  const { accepts, step } = pipe(context, spec, waits.longest)
  const { initial } = context
  const hintLimit = Spec.hintLimit(spec)

  const own: Step = (state, failure, input, random) => {
    state.limit = Infinity
    const decision = step(state, failure, input, random)
    // What rejects without a reason, after classification let the error in, has no retry left to give.
    return decision === rejected ? end : decision
  }

  const withHint = (limit: number): Step => (state, failure, input, random) => {
    const asked = hint.read(input, () => failure.now)
    state.hint = asked
    state.extra = 0
    if (asked === undefined) return own(state, failure, input, random)
    const stop = asked < 0 ? pushback : asked > limit ? tooLong : 0
    if (stop === 0) {
      state.extra = asked + (asked > 0 ? spreadOf(asked) * draw(random) : 0)
    }
    const decision = own(state, failure, input, random)
    if (decision > stop && decision < 0) return decision
    return stop < 0 ? stop : decision < 0 ? decision : decision + state.extra
  }

  const decide = hintLimit === undefined ? own : withHint(hintLimit)

  return {
    readsHints: hintLimit !== undefined,
    hintLimit,
    start: () => ({ slots: initial.slice(), extra: 0, hint: undefined, limit: Infinity }),
    step: (state, failure, input, random) => {
      state.hint = undefined
      if (!failure.timedOut) {
        if (layer.isExhausted(input)) return terminal
        if (accepts !== undefined && !accepts(input)) return terminal
        if (layer.hidesExhausted(input)) return layered
      }
      return decide(state, failure, input, random)
    }
  }
}

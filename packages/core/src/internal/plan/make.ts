import type * as Plan from "../../Plan.ts"
import * as Spec from "../../Spec.ts"
import * as Stepper from "../../Stepper.ts"
import { describe } from "../notation/describe.ts"
import { format } from "../notation/format.ts"
import * as policies from "../policy.ts"
import * as bounds from "./bounds.ts"
import { optionalDuration } from "./duration.ts"
import { mostAttempts, PlanTooLarge } from "./errors.ts"
import { latestStarts } from "./fits.ts"
import { hasTime, timeless } from "./relax.ts"
import { simulate } from "./simulation.ts"
import { steps } from "./steps.ts"
import { type Kind, last, walk } from "./walk.ts"

/** The retries of a plan without an end. */
const shown = 10

interface Subject {
  readonly kind: Kind
  readonly stepper: Stepper.Stepper
  /** Without the elapsed limit of the whole. */
  readonly unhurried: Stepper.Stepper
}

const subject = (policy: policies.Any, input: unknown, hint: number | undefined): Subject => {
  const { spec } = policy
  const rest = timeless(spec)
  const functions = policies.predicates(policy)
  if (input === undefined || hint === undefined) {
    const kind: Kind = input === undefined
      ? { input: hint === undefined ? undefined : { retryAfter: hint }, timedOut: true }
      : { input, timedOut: false }
    const stepper = policies.stepper(policy)
    return { kind, stepper, unhurried: rest === spec ? stepper : Stepper.make(rest, functions) }
  }
  // An error that carries the hint stands for the input, at which the predicates look all the same.
  const bound = functions.map((predicate) => () => predicate(input as never)) // As in a run, the caller's types did.
  const tag = typeof input === "object" && input !== null && "_tag" in input ? { _tag: input._tag } : {}
  return {
    kind: { input: { ...tag, retryAfter: hint }, timedOut: false },
    stepper: Stepper.make(spec, bound),
    unhurried: Stepper.make(rest, bound)
  }
}

/** Fewer runs where each is long: some milliseconds of work. */
const runsOf = (retries: number): number => Math.round(Math.min(2048, Math.max(256, 40_000 / (retries + 1))))

/** See `Plan.of`. Throws `PlanTooLarge` and `InvalidPolicy`. */
export const make = (policy: policies.Any, options: Plan.Options): Plan.Plan => {
  const { spec } = policy
  const attemptTimeout = optionalDuration("plan.attemptTimeout", options.attemptTimeout, 1)
  const hint = optionalDuration("plan.hint", options.hint, 0)
  const { kind, stepper, unhurried } = subject(policy, options.input, hint)
  const counted = hint !== undefined || options.input !== undefined
  const uncountedHint = counted ? undefined : stepper.hintLimit
  const shape = { policy: format(spec), description: describe(spec), attemptTimeout, uncountedHint }
  const timing = { limit: Spec.elapsedLimit(spec), timeout: attemptTimeout ?? 0 }
  const worstCase = (lastStart: number) => attemptTimeout === undefined ? undefined : lastStart + attemptTimeout
  // Where an elapsed limit chooses between policies, a run that waits longer may get further.
  const choosing = hasTime(timeless(spec))
  const latestOf = (most: number) => choosing ? latestStarts(spec, hint, Infinity, timing.timeout, most) : []
  const low = walk(stepper, kind, 0)

  if (low.stop !== undefined) {
    const high = walk(unhurried, kind, 1, choosing ? mostAttempts : low.delays.length)
    const certain = high.delays.length === low.delays.length && last(high) === last(low)
    const free = choosing ? certain : last(high) <= timing.limit
    const waits = (free ? steps(unhurried, kind, low.delays.length) : undefined) ??
      simulate(stepper, kind, runsOf(low.delays.length), mostAttempts)
    const latest = latestOf(mostAttempts)
    const known = { low, high, waits, latest, ...timing }
    const drawn = "totals" in waits ? waits.retries.length : 0
    const retries = choosing ? Math.max(low.delays.length, high.delays.length, drawn) : low.delays.length
    const delays = bounds.delays(known, retries)
    return {
      _tag: "Limited",
      ...shape,
      attempts: retries + 1,
      retries,
      end: Stepper.reason(low.stop) ?? "Terminal",
      delays,
      total: bounds.total(known),
      worstCase: worstCase(bounds.lastStart(delays, known)),
      amplification: bounds.amplification(known)
    }
  }

  if (!Spec.hasEnd(spec)) {
    const few = walk(stepper, kind, 0, shown)
    const high = walk(unhurried, kind, 1, shown)
    const waits = steps(unhurried, kind, shown) ?? simulate(stepper, kind, runsOf(shown), shown + 1)
    return {
      _tag: "Unlimited",
      ...shape,
      delays: bounds.delays({ low: few, high, waits, latest: latestOf(shown), ...timing }, shown)
    }
  }

  // Time alone ends it. With the shortest waits that is late or never; with those in the middle it must be in time.
  const typical = walk(stepper, kind, 0.5)
  if (typical.stop === undefined) throw new PlanTooLarge(shape.policy)
  const waits = simulate(stepper, kind, runsOf(typical.delays.length), mostAttempts)
  const high = walk(unhurried, kind, 1, waits.retries.length)
  const known = { low, high, waits, latest: latestOf(mostAttempts), ...timing }
  const delays = bounds.delays(known, waits.retries.length)
  const total = bounds.total(known)
  const limited = Number.isFinite(timing.limit)
  return {
    _tag: "TimeLimited",
    ...shape,
    delays,
    total: limited ? { ...total, max: timing.limit } : total,
    worstCase: worstCase(limited ? timing.limit : bounds.lastStart(delays, known)),
    amplification: bounds.amplification(known)
  }
}

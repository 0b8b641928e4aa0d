import type * as Plan from "../../Plan.ts"
import * as Spec from "../../Spec.ts"
import * as Stepper from "../../Stepper.ts"
import { describe } from "../notation/describe.ts"
import { format } from "../notation/format.ts"
import * as policies from "../policy.ts"
import * as bounds from "./bounds.ts"
import { optionalDuration, timeoutOf } from "./duration.ts"
import { mostAttempts, PlanTooLarge } from "./errors.ts"
import { affordable, latestStarts } from "./fits.ts"
import { law } from "./law.ts"
import { timeless } from "./relax.ts"
import { simulate } from "./simulation.ts"
import { type Kind, last, type Path, someWork, walk } from "./walk.ts"
import { hasElapsedLimit } from "../stepper/compile.ts"

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

/** Fewer runs where each is long: two milliseconds of work for ten attempts, and not much more for a hundred. */
const runsOf = (retries: number): number =>
  Math.round(Math.min(2048, Math.max(7000 / (retries + 1), Math.min(768, 40_000 / (retries + 1)), 256)))

/** Paths between which chance has nothing to choose. */
const same = (low: Path, high: Path): boolean =>
  low.delays.length === high.delays.length && low.delays.every((delay, index) => delay === high.delays[index])

/** The retries of a path that start in time. */
const inTime = ({ delays, starts, stop }: Path, limit: number): Path => {
  const late = starts.findIndex((start) => start > limit)
  return late < 0 ? { delays, starts, stop } : { delays: delays.slice(0, late), starts: starts.slice(0, late), stop }
}

/** See `Plan.of`. Throws `PlanTooLarge` and `InvalidPolicy`. */
export const make = (policy: policies.Any, options: Plan.Options): Plan.Plan => {
  const { spec } = policy
  const attemptTimeout = optionalDuration("plan.attemptTimeout", options.attemptTimeout, 1)
  const hint = optionalDuration("plan.hint", options.hint, 0)
  const { kind, stepper, unhurried } = subject(policy, options.input, hint)
  const counted = hint !== undefined || options.input !== undefined
  const uncountedHint = counted ? undefined : stepper.hintLimit
  const shape = { policy: format(spec), description: describe(spec), attemptTimeout, uncountedHint }
  const timing = { limit: Spec.elapsedLimit(spec), timeout: timeoutOf(attemptTimeout) }
  const worstCase = (lastStart: number) => attemptTimeout === undefined ? undefined : lastStart + timing.timeout
  // Where an elapsed limit chooses between policies, a run that waits longer may get further.
  const choosing = hasElapsedLimit(timeless(spec))
  const latestOf = (most: number) =>
    choosing
      ? affordable(() => latestStarts(spec, [hint], timing.limit, timing.timeout, someWork(), most), () => {
        throw new PlanTooLarge(shape.policy, "orders")
      })
      : []
  const low = walk(stepper, kind, 0)

  if (low.stop !== undefined) {
    const high = choosing
      ? inTime(walk(unhurried, kind, 1, mostAttempts, timing.limit), timing.limit)
      : walk(unhurried, kind, 1, low.delays.length)
    const free = choosing ? same(low, high) : last(high.starts) <= timing.limit
    const waits = (free ? law(unhurried, kind, low.delays.length) : undefined) ??
      simulate(stepper, kind, runsOf(low.delays.length), mostAttempts)
    const reached = { low, high, waits, latest: [], ...timing }
    const retries = choosing ? bounds.retries(reached) : low.delays.length
    // Other failures may go on without an end.
    const known = { ...reached, latest: latestOf(Spec.hasEnd(spec) ? mostAttempts : retries) }
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
    const free = !choosing || same(few, high)
    const waits = (free ? law(unhurried, kind, shown) : undefined) ??
      simulate(stepper, kind, runsOf(shown), shown + 1)
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

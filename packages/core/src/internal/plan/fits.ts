import type * as Plan from "../../Plan.ts"
import { InvalidPolicy } from "../../InvalidPolicy.ts"
import * as Spec from "../../Spec.ts"
import { format } from "../notation/format.ts"
import type { Any } from "../policy.ts"
import { spreadOf } from "../stepper/spread.ts"
import * as validate from "../validate.ts"
import { optionalDuration, spell, timeoutOf } from "./duration.ts"
import { DoesNotFit, mostAttempts, PlanTooLarge, remedy, TooManyRuns } from "./errors.ts"
import { compile, type Hints, kindsOf } from "./kinds.ts"
import { open, timeless } from "./relax.ts"
import { search, someWork, type Work } from "./walk.ts"
import { longest } from "../stepper/waits.ts"
import { hasElapsedLimit } from "../stepper/compile.ts"

/** The latest start of each retry whatever fails, attempts taking no time; see {@link search}. */
export const latestStarts = (
  spec: Spec.Spec,
  hints: Hints,
  far: number,
  timeout: number,
  work: Work,
  most?: number
): ReadonlyArray<number> => {
  const rest = timeless(open(spec))
  const stepper = compile(rest)
  if (!hasElapsedLimit(rest)) return search(stepper, kindsOf(rest, hints), 1, far, timeout, work, most)
  const kinds = kindsOf(rest, [undefined])
  const earliest = search(stepper, kinds, 0, far, 0, work, most)
  const followed = hints.map((hint) => hint === undefined || hint > (stepper.hintLimit ?? -1) ? 0 : hint)
  const hint = Math.max(...followed.map((millis) => millis + spreadOf(millis)))
  return search(stepper, kinds, 1, far, timeout, work, most, { earliest, hint })
}

/** The most retries that an elapsed limit leaves time for with the shortest waits. */
const mostRetries = (spec: Spec.Spec, hints: Hints, work: Work, most: number): number => {
  const asked = open(spec)
  return search(compile(asked), kindsOf(asked, hints), 0, Infinity, 0, work, most).length
}

interface Terms {
  readonly within: number
  readonly timeout: number
  readonly hints: Hints
}

interface Verdict {
  /** How many attempts end in time; `undefined` when more than a plan holds. */
  readonly inTime: number | undefined
  /** `undefined` where there is none, or it was not asked for. */
  readonly worstCase: number | undefined
}

/** How a spec breaks the terms, or `undefined` where it keeps them whatever fails. */
const judge = (
  spec: Spec.Spec,
  { hints, timeout, within }: Terms,
  work: Work,
  toTheEnd: boolean
): Verdict | undefined => {
  const limit = Spec.elapsedLimit(spec)
  if (limit + timeout <= within) return undefined
  const latest = latestStarts(spec, hints, toTheEnd ? limit : Math.min(limit, within), timeout, work)
  const whole = latest.length < mostAttempts
  if (toTheEnd && !whole) throw new PlanTooLarge(format(spec))
  const retries = limit < Infinity ? mostRetries(spec, hints, work, latest.length) : latest.length
  const ends = [0, ...latest.slice(0, retries)].map((start, index) =>
    Math.min(start + index * timeout, limit) + timeout
  )
  const inTime = ends.findIndex((end) => end > within)
  if (inTime >= 0) return { inTime, worstCase: toTheEnd ? Math.max(...ends) : undefined }
  return whole ? undefined : { inTime: undefined, worstCase: undefined }
}

/** The largest cap in whole milliseconds that makes a spec keep the terms. */
const largestCap = (spec: Spec.Spec, terms: Terms, work: Work): number | undefined => {
  const keeps = (max: number) => judge({ _tag: "Capped", self: spec, max }, terms, work, false) === undefined
  if (!Spec.hasEnd(spec) || !keeps(1)) return undefined
  let low = 1
  let high = Math.min(Math.ceil(Spec.largestDelay(spec)), longest)
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    if (keeps(middle)) low = middle
    else high = middle
  }
  return low
}

/** What a search comes to, unless it is too much work. */
export const affordable = <A>(searched: () => A, otherwise: () => A): A => {
  try {
    return searched()
  } catch (error) {
    if (error instanceof TooManyRuns) return otherwise()
    throw error
  }
}

/** How a policy breaks its contract, or `undefined` where it keeps it. Throws `PlanTooLarge` and `InvalidPolicy`. */
export const misfit = (policy: Any, contract: Plan.Contract, place: string): DoesNotFit | undefined => {
  const { spec } = policy
  const within = validate.duration(`${place}.within`, contract.within, 1)
  const attemptTimeout = optionalDuration(`${place}.attemptTimeout`, contract.attemptTimeout, 1)
  const asked = optionalDuration(`${place}.hint`, contract.hint, 0) ?? Infinity
  const followed = Spec.hintLimit(spec)
  // What asks for a long wait may ask for a shorter one, and a failure need not ask.
  const hint = followed === undefined ? undefined : Math.min(asked, followed)
  const hints: Hints = hint === undefined ? [undefined] : [undefined, hint]
  const terms = { within, timeout: timeoutOf(attemptTimeout), hints }
  const work = someWork()
  const verdict = affordable(() => judge(spec, terms, work, Spec.hasEnd(spec)), () => {
    throw new PlanTooLarge(format(spec), "orders")
  })
  if (verdict === undefined) return undefined
  const { inTime, worstCase } = verdict
  return new DoesNotFit({
    policy: format(spec),
    within,
    attemptTimeout,
    hint,
    worstCase,
    over: worstCase === undefined ? undefined : worstCase - within,
    breaksAtAttempt: inTime === undefined ? undefined : inTime + 1,
    suggestion: {
      attempts: inTime === 0 ? undefined : inTime,
      cap: affordable(() => largestCap(spec, terms, work), () => undefined)
    }
  })
}

/** See `Policy.contract`. */
export const enforce = (policy: Any, contract: Plan.Contract): void => {
  const found = misfit(policy, contract, "contract")
  if (found === undefined) return
  throw new InvalidPolicy({
    argument: `The worst case of ${found.policy}`,
    value: found.worstCase === undefined ? "no end" : spell(found.worstCase),
    rule: `at most ${spell(found.within)} (${remedy(found)})`
  })
}

import type * as Plan from "../../Plan.ts"
import { InvalidPolicy } from "../../InvalidPolicy.ts"
import * as Spec from "../../Spec.ts"
import * as Stepper from "../../Stepper.ts"
import { format } from "../notation/format.ts"
import type { Any } from "../policy.ts"
import * as validate from "../validate.ts"
import { optionalDuration, spell } from "./duration.ts"
import { DoesNotFit, mostAttempts, PlanTooLarge, remedy } from "./errors.ts"
import { countPredicates, open, timeless } from "./relax.ts"
import { type Kind, search } from "./walk.ts"

/** Up to this many predicates, every combination of their answers is a kind of failure. */
const mostCombined = 6

interface Answers {
  readonly answers: (predicate: number) => boolean
  readonly retryAfter: number | undefined
}

/** Every kind of failure that a spec can tell apart, by the answers of its predicates. */
const kindsOf = (predicates: number, retryAfter: number | undefined): ReadonlyArray<Kind> => {
  const kind = (answers: Answers["answers"]): Kind => ({ input: { answers, retryAfter }, timedOut: false })
  const timedOut: Kind = { input: { retryAfter }, timedOut: true }
  if (predicates === 0) return [timedOut]
  if (predicates <= mostCombined) {
    return [timedOut, ...Array.from({ length: 2 ** predicates }, (_, bits) => kind((n) => (bits >> n & 1) === 1))]
  }
  const each = Array.from({ length: Math.min(predicates, 2 ** mostCombined) }, (_, one) => one)
  return [timedOut, ...each.map((one) => kind((n) => n === one)), ...each.map((one) => kind((n) => n !== one))]
}

const compile = (spec: Spec.Spec): Stepper.Stepper =>
  Stepper.make(
    spec,
    Array.from({ length: countPredicates(spec) }, (_, n) => ({ answers }: Answers) => answers(n))
  )

/** The latest start of each retry whatever fails, attempts taking no time; see {@link search}. */
export const latestStarts = (
  spec: Spec.Spec,
  hint: number | undefined,
  far: number,
  timeout: number,
  most?: number
): ReadonlyArray<number> => {
  const rest = timeless(open(spec))
  return search(compile(rest), kindsOf(countPredicates(rest), hint), 1, far, timeout, most)
}

/** The most retries that an elapsed limit leaves time for with the shortest waits. */
const mostRetries = (spec: Spec.Spec, hint: number | undefined, most: number): number => {
  const asked = open(spec)
  return search(compile(asked), kindsOf(countPredicates(asked), hint), 0, Infinity, 0, most).length
}

interface Terms {
  readonly within: number
  readonly timeout: number
  readonly hint: number | undefined
}

interface Verdict {
  /** How many attempts end in time; `undefined` when more than a plan holds. */
  readonly inTime: number | undefined
  /** `undefined` where there is none, or it was not asked for. */
  readonly worstCase: number | undefined
}

/** How a spec breaks the terms, or `undefined` where it keeps them whatever fails. */
const judge = (spec: Spec.Spec, { hint, timeout, within }: Terms, toTheEnd: boolean): Verdict | undefined => {
  const limit = Spec.elapsedLimit(spec)
  if (limit + timeout <= within) return undefined
  const latest = latestStarts(spec, hint, toTheEnd ? limit : Math.min(limit, within), timeout)
  const whole = latest.length < mostAttempts
  if (toTheEnd && !whole) throw new PlanTooLarge(format(spec))
  const retries = limit < Infinity ? mostRetries(spec, hint, latest.length) : latest.length
  const ends = [0, ...latest.slice(0, retries)].map((start, index) =>
    Math.min(start + index * timeout, limit) + timeout
  )
  const inTime = ends.findIndex((end) => end > within)
  if (inTime >= 0) return { inTime, worstCase: toTheEnd ? ends[ends.length - 1]! : undefined }
  return whole ? undefined : { inTime: undefined, worstCase: undefined }
}

/** The largest cap in whole milliseconds that makes a spec keep the terms. */
const largestCap = (spec: Spec.Spec, terms: Terms): number | undefined => {
  const keeps = (max: number) => judge({ _tag: "Capped", self: spec, max }, terms, false) === undefined
  if (!Spec.hasEnd(spec) || !keeps(1)) return undefined
  let low = 1
  let high = Math.min(Math.ceil(Spec.largestDelay(spec)), Number.MAX_SAFE_INTEGER)
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    if (keeps(middle)) low = middle
    else high = middle
  }
  return low
}

/** How a policy breaks its contract, or `undefined` where it keeps it. Throws `PlanTooLarge` and `InvalidPolicy`. */
export const misfit = (policy: Any, contract: Plan.Contract, place: string): DoesNotFit | undefined => {
  const { spec } = policy
  const within = validate.duration(`${place}.within`, contract.within, 1)
  const attemptTimeout = optionalDuration(`${place}.attemptTimeout`, contract.attemptTimeout, 1)
  const hint = optionalDuration(`${place}.hint`, contract.hint, 0) ?? Spec.hintLimit(spec)
  const terms = { within, timeout: attemptTimeout ?? 0, hint }
  const verdict = judge(spec, terms, Spec.hasEnd(spec))
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
    suggestion: { attempts: inTime === 0 ? undefined : inTime, cap: largestCap(spec, terms) }
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

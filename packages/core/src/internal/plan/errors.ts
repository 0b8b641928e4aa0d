import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as duration from "../notation/duration.ts"
import { spell } from "./duration.ts"

/** The most attempts that a plan holds. */
export const mostAttempts = 10_000

// Named with its type because a declaration file cannot infer what a class extends.
const TooLargeBase: new(fields: { readonly policy: string; readonly most: number; readonly message: string }) =>
  & Cause.YieldableError
  & { readonly _tag: "PlanTooLarge"; readonly policy: string; readonly most: number } = Data.TaggedError("PlanTooLarge")

/**
 * A policy makes more attempts than a plan holds, more than 10,000, or can fail in more orders than it can follow.
 *
 * - `policy`: the policy in the notation
 * - `most`: the most attempts that a plan holds
 *
 * @category errors
 */
export class PlanTooLarge extends TooLargeBase {
  constructor(policy: string, why: "attempts" | "orders" = "attempts") {
    super({
      policy,
      most: mostAttempts,
      message: policy + (why === "attempts"
        ? " makes more than 10,000 attempts, the most that a plan holds: give it a smaller limit, or longer waits."
        : " can fail in more orders than a plan can follow: give it a smaller limit on attempts, or fewer predicates.")
    })
  }
}

/** Kinds of failure can follow each other in too many ways; becomes a {@link PlanTooLarge} of the policy. */
export class TooManyRuns extends Error {}

interface Misfit {
  /** The policy in the notation. */
  readonly policy: string
  /** The time allowed, in milliseconds. */
  readonly within: number
  /** The longest that one attempt may take, in milliseconds; `undefined` when only waits were counted. */
  readonly attemptTimeout: number | undefined
  /** The longest hint that was counted, in milliseconds; `undefined` without hints. */
  readonly hint: number | undefined
  /** The longest that a run can take, in milliseconds; `undefined` when the policy has no end. */
  readonly worstCase: number | undefined
  /** By how much that is too long, in milliseconds; `undefined` when the policy has no end. */
  readonly over: number | undefined
  /** The first attempt that may end too late; `undefined` when it is none of the first 10,000. */
  readonly breaksAtAttempt: number | undefined
  /** The largest limits that would fit, each on its own; `undefined` where no value of it does, or none was found. */
  readonly suggestion: {
    /** For `attempts`. */
    readonly attempts: number | undefined
    /** For `capped`, in whole milliseconds. */
    readonly cap: number | undefined
  }
}

const DoesNotFitBase: new(fields: Misfit & { readonly message: string }) =>
  & Cause.YieldableError
  & { readonly _tag: "DoesNotFit" }
  & Readonly<Misfit> = Data.TaggedError("DoesNotFit")

/** What would help. */
export const remedy = ({ attemptTimeout, suggestion, within }: Misfit): string => {
  if (suggestion.attempts === undefined) {
    return attemptTimeout !== undefined && attemptTimeout > within
      ? "One attempt alone may take longer"
      : "No limit on attempts would help"
  }
  const cap = suggestion.cap === undefined ? "" : `, and so would cap(${duration.write(suggestion.cap)})`
  return `attempts(${suggestion.attempts}) would fit${cap}`
}

const sentence = (misfit: Misfit): string => {
  const { attemptTimeout, breaksAtAttempt, hint, over, policy, within, worstCase } = misfit
  const counted = [
    attemptTimeout === undefined ? "" : ` with attempts of up to ${spell(attemptTimeout)}`,
    hint === undefined || hint === 0 ? "" : ` and hints of up to ${spell(hint)}`
  ].join("")
  const length = worstCase === undefined || over === undefined
    ? `has no end, and ${spell(within)} are allowed`
    : `can take ${spell(worstCase)}${counted || " in waits alone"}, ${spell(over)} more than the ${
      spell(within)
    } allowed`
  const place = breaksAtAttempt === undefined ? "" : `; attempt ${breaksAtAttempt} is the first that may end too late`
  return `${policy} ${length}${place}. ${remedy(misfit)}.`
}

/**
 * A policy can take longer than it may.
 *
 * @category errors
 */
export class DoesNotFit extends DoesNotFitBase {
  constructor(misfit: Misfit) {
    super({ ...misfit, message: sentence(misfit) })
  }
}

/**
 * A policy's description as plain data: a closed union without functions.
 *
 * Every reader of a policy (the stepper, `Policy.format`, `Policy.describe`, a plan, a simulator) starts here, so
 * there is one place that says what a policy can be. Durations are milliseconds; predicates stand as names, and the
 * policy holds the functions.
 */

/**
 * Waits that grow by a factor: the delay before retry `n` (the first is 1) is `base * factor ** (n - 1)`.
 *
 * @category constructors
 */
export interface Exponential {
  readonly _tag: "Exponential"
  readonly base: number
  readonly factor: number
}

/**
 * Waits that grow by a fixed step: the delay before retry `n` is `base + increment * (n - 1)`.
 *
 * @category constructors
 */
export interface Linear {
  readonly _tag: "Linear"
  readonly base: number
  readonly increment: number
}

/**
 * Waits that grow as the Fibonacci numbers times `base`: 1, 1, 2, 3, 5, …
 *
 * @category constructors
 */
export interface Fibonacci {
  readonly _tag: "Fibonacci"
  readonly base: number
}

/**
 * Waits that grow as a power of the retry's number: the delay before retry `n` (the first is 1) is
 * `offset + base * (start + n - 1) ** exponent`, and on top of it a draw from `[0, spread * n)`.
 *
 * @category constructors
 */
export interface Polynomial {
  readonly _tag: "Polynomial"
  readonly base: number
  readonly exponent: number
  readonly start: number
  readonly offset: number
  readonly spread: number
}

/**
 * The same wait before every retry.
 *
 * @category constructors
 */
export interface Constant {
  readonly _tag: "Constant"
  readonly delay: number
}

/**
 * Decorrelated jitter: each wait is drawn from `[base, 3 * previous)` and at most `cap`; the one before the first
 * is `base`. Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog.
 *
 * @category constructors
 */
export interface Decorrelated {
  readonly _tag: "Decorrelated"
  readonly base: number
  readonly cap: number
}

/**
 * These waits in this order, then the end.
 *
 * @category constructors
 */
export interface Delays {
  readonly _tag: "Delays"
  readonly delays: ReadonlyArray<number>
}

/**
 * A number of retries without any wait, then the end.
 *
 * @category constructors
 */
export interface Immediate {
  readonly _tag: "Immediate"
  readonly retries: number
}

/**
 * No retry: every failure is terminal.
 *
 * @category constructors
 */
export interface None {
  readonly _tag: "None"
}

/**
 * Each wait times a factor drawn from `[min, max)`: full jitter is 0 to 1, equal jitter 0.5 to 1.
 *
 * @category combinators
 */
export interface Jittered {
  readonly _tag: "Jittered"
  readonly self: Spec
  readonly min: number
  readonly max: number
}

/**
 * No wait of the policy's own is longer than `max`, whatever else stands in the pipe.
 *
 * @category combinators
 */
export interface Capped {
  readonly _tag: "Capped"
  readonly self: Spec
  readonly max: number
}

/**
 * At most `max` executions in the whole run, the first one included.
 *
 * @category combinators
 */
export interface Attempts {
  readonly _tag: "Attempts"
  readonly self: Spec
  readonly max: number
}

/**
 * At most `retries` retries granted through this place in the policy.
 *
 * @category combinators
 */
export interface Recurs {
  readonly _tag: "Recurs"
  readonly self: Spec
  readonly retries: number
}

/**
 * No retry starts later than `duration` after the start of attempt 1.
 *
 * @category combinators
 */
export interface Within {
  readonly _tag: "Within"
  readonly self: Spec
  readonly duration: number
}

/**
 * Only errors that the named predicate accepts are retried.
 *
 * @category combinators
 */
export interface While {
  readonly _tag: "While"
  readonly self: Spec
  readonly predicate: string
}

/**
 * Errors that the named predicate accepts are not retried.
 *
 * @category combinators
 */
export interface Until {
  readonly _tag: "Until"
  readonly self: Spec
  readonly predicate: string
}

/**
 * Only errors with one of these `_tag`s are retried.
 *
 * @category combinators
 */
export interface WhileTag {
  readonly _tag: "WhileTag"
  readonly self: Spec
  readonly tags: ReadonlyArray<string>
}

/**
 * Hints of the failing system (Retry-After and its like) are waited for, up to `max`. It governs the whole policy
 * wherever it stands; of several, the smallest `max` counts.
 *
 * @category combinators
 */
export interface HonoringRetryAfter {
  readonly _tag: "HonoringRetryAfter"
  readonly self: Spec
  readonly max: number
}

/**
 * Says on purpose that there is no end.
 *
 * @category combinators
 */
export interface Unlimited {
  readonly _tag: "Unlimited"
  readonly self: Spec
}

/**
 * One policy after the other: the next begins when the one before it stops.
 *
 * @category combinations
 */
export interface Concat {
  readonly _tag: "Concat"
  readonly members: readonly [Spec, Spec]
}

/**
 * "And": retries while every member does, after the longest of their waits.
 *
 * @category combinations
 */
export interface Max {
  readonly _tag: "Max"
  readonly members: ReadonlyArray<Spec>
}

/**
 * "Or": retries while any member does, after the shortest of their waits.
 *
 * @category combinations
 */
export interface Min {
  readonly _tag: "Min"
  readonly members: ReadonlyArray<Spec>
}

/**
 * Another policy for each kind of error: the first case whose predicate accepts the error, or `otherwise`.
 *
 * @category combinations
 */
export interface ByInput {
  readonly _tag: "ByInput"
  readonly cases: ReadonlyArray<{ readonly name: string; readonly policy: Spec }>
  readonly otherwise: Spec
}

/**
 * The specs that stand at the start of a pipe.
 *
 * @category models
 */
export type Constructor =
  | Exponential
  | Linear
  | Fibonacci
  | Polynomial
  | Constant
  | Decorrelated
  | Delays
  | Immediate
  | None

/**
 * The specs that change one other spec.
 *
 * @category models
 */
export type Combinator =
  | Jittered
  | Capped
  | Attempts
  | Recurs
  | Within
  | While
  | Until
  | WhileTag
  | HonoringRetryAfter
  | Unlimited

/**
 * The specs that join several others.
 *
 * @category models
 */
export type Combination = Concat | Max | Min | ByInput

/**
 * What a policy is, as data.
 *
 * @category models
 */
export type Spec = Constructor | Combinator | Combination

/**
 * The specs directly inside a spec, left to right. Use it to walk a spec without a case for each kind.
 *
 * @category reading
 */
export const children = (spec: Spec): ReadonlyArray<Spec> => {
  switch (spec._tag) {
    case "Concat":
    case "Max":
    case "Min":
      return spec.members
    case "ByInput":
      return [...spec.cases.map((_) => _.policy), spec.otherwise]
    default:
      return "self" in spec ? [spec.self] : []
  }
}

/**
 * Whether a run of this spec is certain to end by itself: a limit on attempts, retries or time, or a list that runs
 * out. Classification is no limit. Use it to refuse a policy that could go on for ever.
 *
 * @category reading
 */
export const hasEnd = (spec: Spec): boolean => {
  switch (spec._tag) {
    case "Delays":
    case "Immediate":
    case "None":
    case "Attempts":
    case "Recurs":
    case "Within":
      return true
    case "Max":
      return spec.members.some(hasEnd)
    case "Min":
    case "Concat":
    case "ByInput":
      return children(spec).every(hasEnd)
    default:
      return "self" in spec && hasEnd(spec.self)
  }
}

/**
 * Whether a spec has an end or says `unlimited` wherever it has none. `Retry.run` refuses a policy for which this is
 * false.
 *
 * @category reading
 */
export const isDeclared = (spec: Spec): boolean => {
  if (spec._tag === "Unlimited" || hasEnd(spec)) return true
  if (spec._tag === "Max") return spec.members.some(isDeclared)
  const inside = children(spec)
  return inside.length > 0 && inside.every(isDeclared)
}

/** `byNumber` is what limits on the run's own attempt number leave; `most` what all limits together do. */
interface Retries {
  readonly byNumber: number
  readonly most: number
}

const retriesOf = (spec: Spec): Retries => {
  switch (spec._tag) {
    case "None":
      return { byNumber: Infinity, most: 0 }
    case "Immediate":
      return { byNumber: Infinity, most: spec.retries }
    case "Delays":
      return { byNumber: Infinity, most: spec.delays.length }
    case "Attempts": {
      const { byNumber, most } = retriesOf(spec.self)
      return { byNumber: Math.min(spec.max - 1, byNumber), most: Math.min(spec.max - 1, most) }
    }
    case "Recurs": {
      const { byNumber, most } = retriesOf(spec.self)
      return { byNumber, most: Math.min(spec.retries, most) }
    }
    case "Max": {
      const members = spec.members.map(retriesOf)
      return {
        byNumber: Math.min(...members.map((_) => _.byNumber)),
        most: Math.min(...members.map((_) => _.most))
      }
    }
    case "Concat":
    case "Min":
    case "ByInput": {
      const members = children(spec).map(retriesOf)
      const byNumber = Math.max(...members.map((_) => _.byNumber))
      // Each of them may count retries that the others granted for none of its own.
      return { byNumber, most: Math.min(byNumber, members.reduce((sum, _) => sum + _.most, 0)) }
    }
    default:
      return "self" in spec ? retriesOf(spec.self) : { byNumber: Infinity, most: Infinity }
  }
}

/**
 * The most executions that a spec may come to, the first one included, read from its limits on numbers; `Infinity`
 * where there is none. A limit of time is no number. Use `Plan.of` for what a policy comes to in detail.
 *
 * @category reading
 */
export const mostAttempts = (spec: Spec): number => retriesOf(spec).most + 1

/**
 * The longest hint that a spec waits for, in milliseconds, or `undefined` when it honours none.
 *
 * @category reading
 */
export const hintLimit = (spec: Spec): number | undefined => {
  let limit = spec._tag === "HonoringRetryAfter" ? spec.max : undefined
  for (const child of children(spec)) {
    const other = hintLimit(child)
    if (other !== undefined && (limit === undefined || other < limit)) limit = other
  }
  return limit
}

/**
 * The longest time after the start of attempt 1 at which a retry of this spec may start, in milliseconds; `Infinity`
 * without such a limit.
 *
 * @category reading
 */
export const elapsedLimit = (spec: Spec): number => {
  switch (spec._tag) {
    case "Within":
      return Math.min(spec.duration, elapsedLimit(spec.self))
    case "Max":
      return Math.min(...spec.members.map(elapsedLimit))
    case "None":
      return 0
    default: {
      const inside = children(spec)
      return inside.length === 0 ? Infinity : Math.max(...inside.map(elapsedLimit))
    }
  }
}

/** What one walk finds out about the waits of a spec, in milliseconds. */
interface Extent {
  /** See {@link cap}. */
  readonly cap: number
  /** See {@link largestDelay}. */
  readonly largest: number
  /** See {@link lastingDelay}. */
  readonly lasting: number
}

const endless = (largest: number, cap: number = Infinity): Extent => ({ cap, largest, lasting: largest })

const ending = (largest: number): Extent => ({ cap: Infinity, largest, lasting: Infinity })

/** `outer` is a cap that stands around the spec. */
const extent = (spec: Spec, outer: number): Extent => {
  switch (spec._tag) {
    case "Exponential":
      return endless(spec.factor > 1 ? outer : Math.min(spec.base, outer))
    case "Linear":
      return endless(spec.increment > 0 ? outer : Math.min(spec.base, outer))
    case "Fibonacci":
      return endless(outer)
    case "Polynomial":
      return endless(spec.exponent > 0 || spec.spread > 0 ? outer : Math.min(spec.offset + spec.base, outer))
    case "Constant":
      return endless(Math.min(spec.delay, outer))
    case "Decorrelated":
      return endless(Math.min(spec.cap, outer), spec.cap)
    case "Delays":
      return ending(Math.min(spec.delays.reduce((a, b) => Math.max(a, b)), outer))
    case "Immediate":
    case "None":
      // They have no wait, so beside others they lift no cap.
      return { ...ending(0), cap: 0 }
    case "Jittered": {
      const { cap, largest, lasting } = extent(spec.self, outer)
      const jittered = (delay: number) => Math.min(delay * spec.max, cap, outer)
      return { cap, largest: jittered(largest), lasting: lasting === Infinity ? lasting : jittered(lasting) }
    }
    case "Capped": {
      const { cap, ...waits } = extent(spec.self, Math.min(spec.max, outer))
      return { cap: Math.min(spec.max, cap), ...waits }
    }
    case "Attempts":
    case "Recurs":
    case "Within":
      return { ...extent(spec.self, outer), lasting: Infinity }
    default: {
      const join = spec._tag === "Max" ? Math.max : Math.min
      return children(spec).map((child) => extent(child, outer)).reduce((a, b) => ({
        cap: Math.max(a.cap, b.cap),
        largest: Math.max(a.largest, b.largest),
        lasting: join(a.lasting, b.lasting)
      }))
    }
  }
}

/**
 * The bound on every wait of the spec's own, in milliseconds; `Infinity` without one. A combination's is the largest
 * of its members'.
 *
 * @category reading
 */
export const cap = (spec: Spec): number => extent(spec, Infinity).cap

/**
 * The longest single wait that the spec can ever ask for, in milliseconds, hints aside; `Infinity` where it grows
 * without a cap.
 *
 * @category reading
 */
export const largestDelay = (spec: Spec): number => extent(spec, Infinity).largest

/**
 * The longest wait that a run of the spec can go on with for ever, in milliseconds; `Infinity` where it cannot go on
 * for ever, or its waits grow without a cap. Below 1 ms it could turn into a loop without delay.
 *
 * @category reading
 */
export const lastingDelay = (spec: Spec): number => extent(spec, Infinity).lasting

/** Arbitrary policies, scripts of failures, and draws. */
import { Policy, RetryExhausted } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as fc from "fast-check"
import type { Predicates } from "./oracle.ts"

/** The wall clock at the start of every run. */
export const epoch = 1_800_000_000_000

// ---------------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------------

interface Fields {
  readonly level: number
  readonly retryAfter?: unknown
  readonly cause?: unknown
}

export class Timeout extends Data.TaggedError("Timeout")<Fields> {}
export class Busy extends Data.TaggedError("Busy")<Fields> {}
class Refused extends Data.TaggedError("Refused")<Fields> {}

/** The tag of an error of the scripts; errors without one are a kind of their own. */
export type Tag = typeof tags[number]

export const tags = ["Timeout", "Busy", "Refused", "Untagged"] as const

export const tagOf = (error: unknown): Tag =>
  error instanceof Timeout || error instanceof Busy || error instanceof Refused ? error._tag : "Untagged"

const levelOf = (error: unknown): number =>
  typeof error === "object" && error !== null && "level" in error ? Number(error.level) : 0

/** Refinements by tag, with the tags that they let pass. */
export const refinements: Readonly<Record<string, ReadonlyArray<Tag>>> = {
  isTimeout: ["Timeout"],
  isBusy: ["Busy"],
  isTimeoutOrBusy: ["Timeout", "Busy"],
  isTagged: ["Timeout", "Busy", "Refused"]
}

const booleans: Predicates = {
  isLow: (error) => levelOf(error) < 8,
  isEven: (error) => levelOf(error) % 2 === 0,
  isAnything: () => true
}

/** What the names in generated policies stand for. */
export const predicates: Predicates = {
  ...booleans,
  ...Object.fromEntries(
    Object.entries(refinements).map(([name, passed]) => [name, (error: unknown) => passed.includes(tagOf(error))])
  )
}

export const hintKinds = [
  "none",
  "zero",
  "small",
  "1 s",
  "30 s",
  "past date",
  "future date",
  "huge",
  "do not retry",
  "unreadable"
] as const

type HintKind = typeof hintKinds[number]

const retryAfterOf = (kind: HintKind): unknown => {
  switch (kind) {
    case "none":
      return undefined
    case "zero":
      return 0
    case "small":
      return 120
    case "1 s":
      return 1000
    case "30 s":
      return 30_000
    case "past date":
      return new Date(epoch - 60_000)
    case "future date":
      return new Date(epoch + 20_000)
    case "huge":
      return Number.MAX_VALUE
    case "do not retry":
      return kind
    case "unreadable":
      return "soon"
  }
}

/** What an inner run leaves when it gave up. */
export const exhaustedInside: RetryExhausted.RetryExhausted = new RetryExhausted.RetryExhausted({
  operation: "inner",
  reason: { _tag: "Attempts" },
  attempts: 2,
  elapsed: Duration.zero,
  waits: { count: 1, total: Duration.zero },
  history: [],
  lastError: "inner",
  lastCause: Cause.fail("inner"),
  policy: "immediate(1)",
  retryAt: undefined
})

/** One failed attempt of a script. */
interface Scripted {
  readonly error: unknown
  readonly hint: HintKind
  /** Milliseconds that the attempt takes. */
  readonly took: number
  /** The driver's own timeout ended it. */
  readonly timedOut: boolean
}

/** How long the attempts take that the driver's timeout ends. */
export const attemptTimeout = 700

const tagged = fc.constantFrom(Timeout, Busy, Refused)
const level = fc.integer({ min: 0, max: 9 })
const hintKind: fc.Arbitrary<HintKind> = fc.oneof(
  { weight: 6, arbitrary: fc.constant("none" as const) },
  { weight: 7, arbitrary: fc.constantFrom("zero" as const, "small" as const, "1 s" as const, "30 s" as const) },
  { weight: 3, arbitrary: fc.constantFrom("past date" as const, "future date" as const, "unreadable" as const) },
  { weight: 1, arbitrary: fc.constantFrom("huge" as const, "do not retry" as const) }
)
const took = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2000 }))

const plain: fc.Arbitrary<Scripted> = fc.record({ Class: tagged, level, hint: hintKind, took }).map(
  ({ Class, hint, level, took }) => ({
    error: new Class({ level, retryAfter: retryAfterOf(hint) }),
    hint,
    took,
    timedOut: false
  })
)

const special = (error: unknown) => (took: number): Scripted => ({ error, hint: "none", took, timedOut: false })

/** Failures without the driver's timeouts. */
const scripted: fc.Arbitrary<Scripted> = fc.oneof(
  { weight: 36, arbitrary: plain },
  { weight: 1, arbitrary: took.map(special(undefined)) },
  { weight: 1, arbitrary: took.map(special(new Error("untagged"))) },
  { weight: 1, arbitrary: took.map(special(exhaustedInside)) },
  {
    weight: 1,
    arbitrary: fc.record({ Class: tagged, level, took }).map(({ Class, level, took }) =>
      special(new Class({ level, cause: new Error("mapped", { cause: exhaustedInside }) }))(took)
    )
  }
)

/** A failure that the driver's own timeout makes. */
const timedOut: Scripted = { error: new Cause.TimeoutError(), hint: "none", took: attemptTimeout, timedOut: true }

/** The failures of a run; after the last comes a success. */
export type Script = ReadonlyArray<Scripted>

const length = { minLength: 1, maxLength: 12 }

export const script: fc.Arbitrary<Script> = fc.array(scripted, length)

/** A script in which some attempts time out. */
export const scriptWithTimeouts: fc.Arbitrary<Script> = fc.array(
  fc.oneof({ weight: 6, arbitrary: scripted }, { weight: 1, arbitrary: fc.constant(timedOut) }),
  length
)

// ---------------------------------------------------------------------------------------------------------------------
// Draws
// ---------------------------------------------------------------------------------------------------------------------

/** The random numbers of a run, by index. */
export type Draws = (index: number) => number

/** Draws that repeat after a while, the ends of `[0, 1)` among them. */
export const draws: fc.Arbitrary<Draws> = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }) },
    { weight: 1, arbitrary: fc.constantFrom(0, 0.5, 1 - 2 ** -53) }
  ),
  { minLength: 7, maxLength: 13 }
).map((numbers) => (index: number) => numbers[index % numbers.length]!)

/** The same number at every draw: what a policy does then does not depend on the order of draws. */
export const constantDraws: fc.Arbitrary<Draws> = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  .map((number) => () => number)

// ---------------------------------------------------------------------------------------------------------------------
// Policies
// ---------------------------------------------------------------------------------------------------------------------

// From 50 ms up, so that jitters on top of each other keep a policy without an end above the 1 ms that R1 asks for.
export const millis = (min: number, max: number) => fc.integer({ min, max })
const base = millis(50, 1500)
const predicate = fc.constantFrom(...Object.keys(predicates))
const jitter: fc.Arbitrary<Policy.Jitter> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom("full" as const, "equal" as const) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 5, max: 30 })).map(([a, b]) => ({
      min: Math.min(a, b) / 10,
      max: Math.max(a, b) / 10
    }))
  }
)

const polynomial = fc.tuple(base, fc.constantFrom(0, 0.5, 1, 2, 4), fc.integer({ min: 0, max: 2 }), millis(0, 1000))

const silentConstructor: fc.Arbitrary<Policy.Any> = fc.oneof(
  fc.tuple(base, fc.constantFrom(1, 1.5, 2, 10)).map(([base, factor]) => Policy.exponential(base, factor)),
  fc.tuple(base, millis(0, 1000)).map(([base, increment]) => Policy.linear(base, increment)),
  base.map((base) => Policy.fibonacci(base)),
  polynomial.map(([base, exponent, start, offset]) => Policy.polynomial(base, exponent, { start, offset })),
  base.map((delay) => Policy.constant(delay)),
  fc.array(fc.oneof(fc.constant(0), millis(0, 2000)), { minLength: 1, maxLength: 4 }).map((_) => Policy.delays(_)),
  fc.integer({ min: 1, max: 3 }).map((_) => Policy.immediate(_)),
  fc.constant(Policy.none)
)

const constructor: fc.Arbitrary<Policy.Any> = fc.oneof(
  { weight: 7, arbitrary: silentConstructor },
  { weight: 1, arbitrary: fc.constant(Policy.standard) },
  {
    weight: 1,
    arbitrary: fc.tuple(base, millis(0, 5000)).map(([base, more]) => Policy.decorrelated({ base, cap: base + more }))
  },
  {
    weight: 1,
    arbitrary: fc.tuple(polynomial, millis(1, 1000)).map(([[base, exponent, start, offset], spread]) =>
      Policy.polynomial(base, exponent, { start, offset, spread })
    )
  }
)

/** What a combinator with its arguments does. */
export type Wrapper = (self: Policy.Any) => Policy.Any

/** Limits on attempts, retries and time. */
export const limit: fc.Arbitrary<Wrapper> = fc.oneof(
  fc.integer({ min: 1, max: 8 }).map((n): Wrapper => (self) => Policy.attempts(self, n)),
  fc.integer({ min: 0, max: 6 }).map((n): Wrapper => (self) => Policy.recurs(self, n)),
  millis(200, 8000).map((duration): Wrapper => (self) => Policy.within(self, duration))
)

/** Classifications. */
export const classification: fc.Arbitrary<Wrapper> = fc.oneof(
  predicate.map((name): Wrapper => (self) => Policy.whileInput(self, predicates[name]!, name)),
  predicate.map((name): Wrapper => (self) => Policy.untilInput(self, predicates[name]!, name)),
  fc.subarray(["Timeout", "Busy", "Refused"], { minLength: 1 }).map(([first, ...others]): Wrapper => (self) =>
    Policy.whileTag(first!, ...others)(self)
  )
)

const cap = millis(50, 4000)

const silentWrapper: fc.Arbitrary<Wrapper> = fc.oneof(
  { weight: 3, arbitrary: limit },
  { weight: 2, arbitrary: classification },
  { weight: 2, arbitrary: cap.map((max): Wrapper => (self) => Policy.capped(self, max)) },
  { weight: 1, arbitrary: fc.constant<Wrapper>((self) => Policy.unlimited(self)) }
)

const hintWrapper: fc.Arbitrary<Wrapper> = millis(500, 60_000).map((max): Wrapper => (self) =>
  Policy.honoringRetryAfter(self, { max })
)

/** A change of one policy, by any combinator. */
export const wrapper: fc.Arbitrary<Wrapper> = fc.oneof(
  { weight: 6, arbitrary: silentWrapper },
  { weight: 1, arbitrary: fc.constant<Wrapper>((self) => Policy.jittered(self)) },
  { weight: 2, arbitrary: jitter.map((kind): Wrapper => (self) => Policy.jitteredWith(self, kind)) },
  { weight: 2, arbitrary: hintWrapper }
)

/**
 * What may stand around both sides of a law: any combinator but a jitter, or nothing. A jitter ends no pipe, so a
 * `within` judges the wait after it; around a combination it comes after each member was judged.
 */
export const context: fc.Arbitrary<Wrapper> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Wrapper>((self) => self) },
  { weight: 2, arbitrary: silentWrapper },
  { weight: 1, arbitrary: hintWrapper }
)

const combination = (member: fc.Arbitrary<Policy.Any>): fc.Arbitrary<Policy.Any> => {
  const list = fc.array(member, { minLength: 1, maxLength: 3 }).map(([first, ...others]) =>
    [first!, ...others] as const
  )
  return fc.oneof(
    fc.tuple(member, member).map(([first, second]): Policy.Any => Policy.concat(first, second)),
    list.map((members): Policy.Any => Policy.max(members)),
    list.map((members): Policy.Any => Policy.min(members)),
    fc.tuple(predicate, member, predicate, member, member).map(([first, one, second, two, otherwise]): Policy.Any =>
      Policy.byInput([[first, predicates[first]!, one], [second, predicates[second]!, two]], otherwise)
    )
  )
}

const nested = (
  depth: number,
  constructor: fc.Arbitrary<Policy.Any>,
  wrapper: fc.Arbitrary<Wrapper>
): fc.Arbitrary<Policy.Any> => {
  if (depth === 0) return constructor
  const inner = nested(depth - 1, constructor, wrapper)
  return fc.oneof(
    { weight: 1, arbitrary: constructor },
    { weight: 4, arbitrary: fc.tuple(inner, wrapper).map(([self, wrap]) => wrap(self)) },
    { weight: 3, arbitrary: combination(inner) }
  )
}

/** Any policy, made by every constructor, combinator and combination. */
export const policy: fc.Arbitrary<Policy.Any> = nested(4, constructor, wrapper)

/** A policy that draws nothing: no jitter, and no hint, for hints are spread. */
export const silentPolicy: fc.Arbitrary<Policy.Any> = nested(3, silentConstructor, silentWrapper)

/** A jitter that lengthens most waits. */
export const lengthening: fc.Arbitrary<Wrapper> = fc.integer({ min: 10, max: 30 }).map((tenths): Wrapper => (self) =>
  Policy.jitteredWith(self, { min: 0.8, max: tenths / 10 })
)

/** Some members for the laws of combinations, less deep and often limited or classified. */
export const member: fc.Arbitrary<Policy.Any> = nested(2, constructor, wrapper)

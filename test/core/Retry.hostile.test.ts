import { describe, expect, it, vi } from "@effect/vitest"
import { Policy, PredicateError } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { inspect } from "node:util"
import { errorOf, exhaustion } from "./exits.ts"
import { record, recordWith } from "./Recording.ts"

class Busy extends Data.TaggedError("Busy")<{}> {}

const thrice = Policy.immediate(2)

const defectOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isDieReason)?.defect : undefined

const refuse = (): never => {
  throw new Error("do not look at me")
}
const hostileProxy = new Proxy({}, {
  get: refuse,
  has: refuse,
  ownKeys: refuse,
  getOwnPropertyDescriptor: refuse,
  getPrototypeOf: refuse
})

const hostile: ReadonlyArray<readonly [what: string, error: unknown]> = [
  ["a Proxy that refuses everything", hostileProxy],
  [
    "a revoked Proxy",
    (() => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    })()
  ],
  [
    "getters that throw",
    Object.defineProperties({}, {
      _tag: { get: refuse },
      message: { get: refuse },
      name: { get: refuse },
      cause: { get: refuse },
      reason: { get: refuse },
      retryAfter: { get: refuse }
    })
  ],
  [
    "an Error with getters that throw",
    Object.defineProperties(new Error(), {
      _tag: { get: refuse },
      message: { get: refuse },
      name: { get: refuse },
      stack: { get: refuse },
      cause: { get: refuse }
    })
  ],
  [
    "an Error whose message is a symbol",
    Object.assign(new Error(), { message: Symbol("secret"), name: Symbol("name") })
  ],
  ["an Error whose message refuses to be a text", Object.assign(new Error(), { message: { toString: refuse } })],
  ["a function that refuses to be a text", Object.assign(() => 1, { toString: refuse, [Symbol.toPrimitive]: refuse })],
  ["an object without a prototype", Object.create(null)],
  ["a frozen error", Object.freeze(new Busy())]
]
const odd: ReadonlyArray<readonly [what: string, error: unknown]> = [
  ["undefined", undefined],
  ["null", null],
  ["a text", "busy"],
  ["an empty text", ""],
  ["zero", 0],
  ["NaN", NaN],
  ["a symbol", Symbol("busy")],
  ["a bigint", 5n],
  ["a boolean", false],
  ["a function", () => 5],
  ["a list", ["busy"]]
]

describe("an error of any kind is retried and exhausts", () => {
  it.each([...hostile, ...odd])("%s", (_, error) => {
    const { attempts, exit } = record(() => Effect.fail(error), thrice.pipe(Policy.honoringRetryAfter()))
    expect(attempts).toBe(3)
    const failure = exhaustion(exit)
    expect(Object.is(failure.lastError, error)).toBe(true)
    expect(failure.message).toMatch(/^An operation gave up after 3 attempts/)
  })

  it.each([...hostile, ...odd])("and can be printed: %s", (_, error) => {
    const failure = exhaustion(record(() => Effect.fail(error), thrice).exit)
    expect(inspect(failure)).toContain("gave up after 3 attempts")
    expect(JSON.stringify(failure)).toContain("gave up after 3 attempts")
    expect(String(failure)).toContain("gave up after 3 attempts")
  })
})

describe("whileTag is total", () => {
  it.each([...hostile, ...odd].filter(([what]) => what !== "a frozen error"))("%s is not retried", (_, error) => {
    const { attempts, exit } = record(() => Effect.fail(error), thrice.pipe(Policy.whileTag("Busy")))
    expect(attempts).toBe(1)
    expect(Exit.isFailure(exit) && exit.cause.reasons).toHaveLength(1)
    expect(Object.is(errorOf(exit), error)).toBe(true)
  })

  it("a tag on the prototype, and one of a function, are read", () => {
    const onPrototype = Object.create({ _tag: "Busy" })
    expect(record(() => Effect.fail(onPrototype), thrice.pipe(Policy.whileTag("Busy"))).attempts).toBe(3)
  })

  it.each([["constructor"], ["toString"], ["__proto__"]])("the tag %s is no property of anything", (tag) => {
    expect(record(() => Effect.fail({ _tag: "Other" }), thrice.pipe(Policy.whileTag(tag))).attempts).toBe(1)
    expect(record(() => Effect.fail({ _tag: tag }), thrice.pipe(Policy.whileTag(tag))).attempts).toBe(3)
  })
})

describe("a predicate that throws is a defect", () => {
  const isBroken: (error: Busy) => boolean = () => {
    throw new TypeError("cannot read")
  }
  const policies: ReadonlyArray<[what: string, policy: Policy.Policy<Busy>]> = [
    ["whileInput", thrice.pipe(Policy.whileInput(isBroken))],
    ["untilInput", thrice.pipe(Policy.untilInput(isBroken))],
    ["byInput", Policy.byInput([["isBroken", isBroken, thrice]], thrice)],
    ["min", Policy.min([thrice.pipe(Policy.whileInput(isBroken)), Policy.none])],
    ["max", Policy.max([thrice.pipe(Policy.whileInput(isBroken)), thrice])],
    ["concat", Policy.concat(Policy.none, thrice.pipe(Policy.whileInput(isBroken)))]
  ]

  it.each(policies)("in %s: it names the predicate, and keeps the failure and what was thrown", (_, policy) => {
    const error = new Busy()
    const { attempts, exit } = record(() => Effect.fail(error), policy)
    expect(attempts).toBe(1)
    const defect = defectOf(exit)
    if (!PredicateError.is(defect)) throw defect
    expect([defect.predicate, defect.failure]).toEqual(["isBroken", error])
    expect(defect.failure).toBe(error)
    expect(defect.cause).toEqual(new TypeError("cannot read"))
    expect(defect.message).toBe("The predicate \"isBroken\" of a retry policy threw")
  })

  it.each(policies)("in %s, driven by Effect.retry", (_, policy) => {
    const { attempts, exit } = recordWith(() => Effect.fail(new Busy()), Effect.retry(policy))
    expect(attempts).toBe(1)
    expect(PredicateError.is(defectOf(exit))).toBe(true)
  })

  it.each<[what: string, answer: unknown, kind: string]>([
    ["an async predicate", Promise.resolve(true), "a Promise"],
    ["an effect", Effect.succeed(true), "object"],
    ["undefined", undefined, "undefined"],
    ["a truthy text", "yes", "string"]
  ])("so is one that answers with %s", (_, answer, kind) => {
    const { attempts, exit } = record(
      () => Effect.fail(new Busy()),
      thrice.pipe(Policy.whileInput(() => answer as boolean, "asks"))
    )
    expect(attempts).toBe(1)
    const defect = defectOf(exit)
    if (!PredicateError.is(defect)) throw defect
    expect(defect.predicate).toBe("asks")
    expect(defect.message).toContain(`must return a boolean, and returned ${kind}`)
  })

  it("an async one that fails does not end the process with a rejection that nobody handles", () => {
    const answer: Promise<boolean> = Promise.reject(new TypeError("cannot read"))
    const then = vi.spyOn(answer, "then")
    record(() => Effect.fail(new Busy()), thrice.pipe(Policy.whileInput(() => answer as unknown as boolean, "asks")))
    const handlers = then.mock.calls.length
    // So that it does not end this process either.
    void answer.catch(() => undefined)
    expect(handlers).toBeGreaterThan(0)
  })
})

import { describe, expect, it } from "@effect/vitest"
import * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as fc from "fast-check"

class Busy extends Data.TaggedError("Busy")<{ readonly cause?: unknown }> {}

const withCode = (code: string, more?: object): Error => Object.assign(new Error("no message decides"), { code }, more)

const unknown = {
  transience: "unknown",
  applied: "maybe",
  throttled: false,
  hint: undefined,
  reader: "none",
  code: undefined
}

describe("what nothing recognises", () => {
  it.each([
    ["an Error", new Error("ECONNREFUSED 503 timeout")],
    ["a tagged error", new Busy({})],
    ["a string", "ECONNRESET"],
    ["a number", 503],
    ["undefined", undefined],
    ["null", null],
    ["an object with other fields", { code: 14, status: "503", statusCode: null }],
    ["an object with a tag of Effect's, but not its fields", { _tag: "CircuitOpen" }]
  ])("%s is unknown, and maybe applied", (_, error) => {
    expect(Transience.classify(error)).toEqual(unknown)
  })
})

describe("the call that failed says whether a byte was sent", () => {
  it.each(
    [
      ["ETIMEDOUT", "connect", "no"],
      ["ETIMEDOUT", "read", "maybe"],
      ["ECONNRESET", "connect", "no"],
      ["ECONNRESET", "read", "maybe"],
      ["EHOSTUNREACH", "connect", "no"],
      ["EHOSTUNREACH", "write", "maybe"],
      ["ENETUNREACH", "connect", "no"],
      ["ENETUNREACH", "read", "maybe"],
      ["ENOTFOUND", "getaddrinfo", "no"],
      ["ETIMEOUT", "queryA", "no"],
      ["EADDRINUSE", "connect", "no"],
      ["EADDRNOTAVAIL", "connect", "no"]
    ] as const
  )("%s of %s is transient, applied %s", (code, syscall, applied) => {
    expect(Transience.classify(withCode(code, { syscall }))).toMatchObject({ transience: "transient", applied })
  })

  it("a listener's port that is taken stays taken", () => {
    expect(Transience.isTerminal(withCode("EADDRINUSE", { syscall: "listen" }))).toBe(true)
  })
})

describe("codes that look alike", () => {
  it.each(["EPIPE", "EBUSY", "EINTR"])("%s is Node's, no SQLSTATE", (code) => {
    expect(Transience.classify({ code })).toMatchObject({ transience: "transient", reader: "node" })
  })

  it("a word of five letters is no SQLSTATE", () => {
    expect(Transience.isUnknown({ code: "EXDEV" })).toBe(true)
    expect(Transience.isUnknown({ code: "OOPSY" })).toBe(true)
  })

  it("a small number is a gRPC status only with details or metadata", () => {
    expect(Transience.isUnknown({ code: 14 })).toBe(true)
    expect(Transience.isTransient({ code: 14, details: "no connection" })).toBe(true)
    expect(Transience.isTransient({ code: 14, metadata: {} })).toBe(true)
  })

  it.each([-1, 0.5, 17, 503, Number.NaN])("%d is no gRPC status", (code) => {
    expect(Transience.isUnknown({ code, details: "" })).toBe(true)
  })

  it("a status given as text is not taken for a code", () => {
    expect(Transience.isUnknown({ code: "503" })).toBe(true)
    expect(Transience.isUnknown({ code: "14" })).toBe(true)
  })

  it.each([408, 503])("undici's wrappers of a status go by their statusCode: %d", (statusCode) => {
    expect(Transience.classify(withCode("UND_ERR_RESPONSE", { statusCode }))).toMatchObject({
      transience: "transient",
      reader: "http",
      code: String(statusCode)
    })
    expect(Transience.isTransient(withCode("UND_ERR_REQ_RETRY", { statusCode }))).toBe(true)
    expect(Transience.isTerminal(withCode("UND_ERR_RESPONSE", { statusCode: 404 }))).toBe(true)
  })

  it("codes of OpenSSL and llhttp that no table lists are terminal", () => {
    expect(Transience.classify(withCode("ERR_SSL_DECRYPTION_FAILED"))).toMatchObject({
      transience: "terminal",
      applied: "no"
    })
    expect(Transience.classify(withCode("HPE_NEW_IN_2030"))).toMatchObject({
      transience: "terminal",
      applied: "maybe"
    })
  })
})

describe("an HTTP status", () => {
  it.each([["status", { status: 503 }], ["statusCode", { statusCode: 503 }], ["response", {
    response: { status: 503 }
  }]])(
    "is read from %s",
    (_, error) => {
      expect(Transience.classify(error)).toMatchObject({ transience: "transient", throttled: true, code: "503" })
    }
  )

  it("503 may have been applied, but not when the server said when to come back", () => {
    expect(Transience.notApplied({ status: 503 })).toBe(false)
    expect(Transience.notApplied({ status: 503, retryAfter: "1 seconds" })).toBe(true)
  })

  it.each([403, 409, 413, 423, 509])("%d is terminal, unless the server said when to come back", (status) => {
    expect(Transience.isTerminal({ status })).toBe(true)
    expect(Transience.isTransient({ status, retryAfter: "1 seconds" })).toBe(true)
    expect(Transience.isTerminal({ status, retryAfter: "do not retry" })).toBe(true)
  })

  it("RESOURCE_EXHAUSTED of gRPC is the same", () => {
    expect(Transience.isTerminal({ code: 8, details: "" })).toBe(true)
    expect(Transience.classify({ code: 8, details: "", retryAfter: 500 })).toMatchObject({
      transience: "transient",
      applied: "no",
      throttled: true
    })
  })

  it("401, 404 and 422 stay terminal with a hint", () => {
    for (const status of [401, 404, 422]) expect(Transience.isTerminal({ status, retryAfter: 1 })).toBe(true)
  })
})

describe("names of aborted work", () => {
  it("what the caller aborted is terminal", () => {
    const controller = new AbortController()
    controller.abort()
    expect(Transience.classify(controller.signal.reason)).toMatchObject({ transience: "terminal", code: "AbortError" })
  })

  it("a timeout is transient, also where Node wraps it in an AbortError", () => {
    const timeout = new DOMException("no message decides", "TimeoutError")
    const wrapped = Object.assign(withCode("ABORT_ERR"), { name: "AbortError", cause: timeout })
    expect(Transience.classify(timeout)).toMatchObject({ transience: "transient", applied: "maybe" })
    expect(Transience.classify(wrapped)).toMatchObject({ transience: "transient", applied: "maybe" })
  })
})

describe("what an error wraps", () => {
  it("the outermost decision wins", () => {
    const error = Object.assign(new Error("", { cause: withCode("ECONNRESET") }), { status: 404 })
    expect(Transience.classify(error)).toMatchObject({ transience: "terminal", code: "404" })
  })

  it("an undecided error goes by its cause, at any depth", () => {
    let error: unknown = withCode("40001")
    for (let depth = 0; depth < 50; depth++) error = new Error("", { cause: error })
    expect(Transience.isTransient(error)).toBe(true)
  })

  it("an undecided error goes by its reason", () => {
    expect(Transience.isTransient({ _tag: "Outer", reason: { _tag: "Inner", cause: withCode("EPIPE") } })).toBe(true)
  })

  it("a cycle ends", () => {
    const outer = new Error("outer")
    const inner = new Error("inner", { cause: outer })
    outer.cause = inner
    expect(Transience.isUnknown(outer)).toBe(true)
  })

  it("a chain of 10,000 ends, and so does one without end", () => {
    let error = new Error("innermost")
    for (let depth = 0; depth < 10_000; depth++) error = new Error("", { cause: error })
    expect(Transience.isUnknown(error)).toBe(true)
    const endless = (): object => new Proxy({}, { get: (_, key) => key === "cause" ? endless() : undefined })
    expect(Transience.isUnknown(endless())).toBe(true)
  })

  it("an AggregateError of one call goes by its own code", () => {
    const errors = ["127.0.0.1", "::1"].map((address) => withCode("ETIMEDOUT", { syscall: "connect", address }))
    const error = Object.assign(new AggregateError(errors), { code: "ETIMEDOUT" })
    expect(Transience.classify(error)).toMatchObject({ transience: "transient", applied: "no", code: "ETIMEDOUT" })
  })

  it("an AggregateError is transient when all of its errors are, and did as much as the worst", () => {
    const refused = withCode("ECONNREFUSED")
    const reset = withCode("ECONNRESET")
    expect(Transience.classify(new AggregateError([refused, refused]))).toMatchObject({ applied: "no" })
    expect(Transience.classify(new AggregateError([refused, new Error("", { cause: reset })]))).toMatchObject({
      transience: "transient",
      applied: "maybe"
    })
    expect(Transience.isTerminal(new AggregateError([refused, { status: 404 }, new Error()]))).toBe(true)
    expect(Transience.isUnknown(new AggregateError([refused, new Error()]))).toBe(true)
    expect(Transience.isUnknown(new AggregateError([]))).toBe(true)
  })

  it("an AggregateError of itself ends", () => {
    const error = new AggregateError([])
    error.errors.push(error, error)
    expect(Transience.isUnknown(error)).toBe(true)
  })

  it("a list of errors on something else than an AggregateError says nothing", () => {
    expect(Transience.isUnknown({ name: "ValidationError", errors: [withCode("ECONNRESET")] })).toBe(true)
  })
})

describe("hostile errors", () => {
  const throwing = (): never => {
    throw new Error("not to be read")
  }

  it("a getter that throws counts as absent", () => {
    const error = Object.defineProperties({ status: 503 }, {
      code: { get: throwing },
      name: { get: throwing },
      cause: { get: throwing },
      retryAfter: { get: throwing },
      [Transience.TypeId]: { get: throwing }
    })
    expect(Transience.classify(error)).toMatchObject({ transience: "transient", code: "503" })
  })

  it("a Proxy whose every trap throws is unknown", () => {
    const traps = Object.fromEntries(Reflect.ownKeys(Reflect).map((trap) => [trap, throwing]))
    expect(Transience.classify(new Proxy({}, traps))).toEqual(unknown)
    expect(Transience.classify(new Error("", { cause: new Proxy([], traps) }))).toEqual(unknown)
  })

  it("a revoked Proxy is unknown", () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(Transience.classify(proxy)).toEqual(unknown)
    expect(Transience.classify({ name: "AggregateError", errors: proxy })).toEqual(unknown)
  })

  it("classify never throws, and its predicates agree with it", () => {
    fc.assert(fc.property(fc.anything({ withDate: true }), (error) => {
      const { applied, transience } = Transience.classify(error)
      expect(Transience.isTransient(error)).toBe(transience === "transient")
      expect(Transience.isTerminal(error)).toBe(transience === "terminal")
      expect(Transience.isUnknown(error)).toBe(transience === "unknown")
      expect(Transience.notApplied(error)).toBe(applied === "no")
    }))
  })

  it("classify never throws on errors with the fields that it reads, nor changes them", () => {
    const value = fc.oneof(
      fc.anything({ withDate: true }),
      fc.constantFrom<unknown>("ECONNRESET", "40001", 503, 14, true, false, "UnknownError", "TimeoutError", Symbol("s"))
    )
    const fields = [
      ..."code name status statusCode response details metadata errors syscall isRetryable _tag".split(" "),
      ..."reason cause retryAfter request module key limit".split(" "),
      Transience.TypeId,
      Cause.TimeoutErrorTypeId
    ]
    const anyError = fc.record(Object.fromEntries(fields.map((key) => [key, value])), { requiredKeys: [] })
    fc.assert(
      fc.property(anyError, (error) => {
        const verdict = Transience.classify(Object.freeze(error))
        expect(["transient", "terminal", "unknown"]).toContain(verdict.transience)
      }),
      { numRuns: 1000 }
    )
  })
})

describe("predicates for policies", () => {
  it("have the names that a policy shows", () => {
    expect([Transience.isTransient, Transience.isTerminal, Transience.isUnknown].map(({ name }) => name)).toEqual([
      "isTransient",
      "isTerminal",
      "isUnknown"
    ])
    expect([Transience.isThrottled.name, Transience.notApplied.name]).toEqual(["isThrottled", "notApplied"])
    expect(Transience.make([]).isTransient.name).toBe("isTransient")
  })

  it("throttling is told apart from other failures", () => {
    expect([429, 503, 529, 500, 404].map((status) => Transience.isThrottled({ status }))).toEqual([
      true,
      true,
      true,
      false,
      false
    ])
  })
})

import { assert, describe, expect, it } from "@effect/vitest"
import * as Transience from "@reprise/core/Transience"
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as GraphQLClientError from "effect/graphql/GraphQLClientError"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as PlatformError from "effect/PlatformError"
import * as SqlError from "effect/sql/SqlError"
import * as TestClock from "effect/testing/TestClock"

const withCode = (code: string, more?: object): Error => Object.assign(new Error("no message decides"), { code }, more)

describe("Effect's timeout", () => {
  it.effect("is transient, and maybe applied", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.flip(Effect.timeout(Effect.never, "1 second")))
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(fiber)
      assert.deepStrictEqual(Transience.classify(error), {
        transience: "transient",
        applied: "maybe",
        throttled: false,
        hint: undefined,
        reader: "effect",
        code: "TimeoutError"
      })
    }))
})

describe("SqlError", () => {
  const cause = new Error("no code")
  const sql = (reason: SqlError.SqlErrorReason) => new SqlError.SqlError({ reason })

  it.each(
    [
      ["57P01", "transient", "maybe"],
      ["53300", "transient", "no"],
      ["3D000", "terminal", "no"]
    ] as const
  )(
    "%s, which Effect calls an UnknownError that is not retryable, goes by its SQLSTATE",
    (code, transience, applied) => {
      const error = sql(new SqlError.UnknownError({ cause: withCode(code) }))
      expect(error.isRetryable).toBe(false)
      expect(Transience.classify(error)).toMatchObject({ transience, applied, reader: "sqlstate", code })
    }
  )

  it("a lost connection goes by the system code below", () => {
    const refused = sql(new SqlError.ConnectionError({ cause: withCode("ECONNREFUSED", { syscall: "connect" }) }))
    expect(Transience.classify(refused)).toMatchObject({ transience: "transient", applied: "no", reader: "node" })
  })

  it("without a code below it goes by isRetryable", () => {
    const verdictOf = (reason: SqlError.SqlErrorReason) => {
      const { applied, code, reader, transience } = Transience.classify(sql(reason))
      return [code, transience, applied, reader]
    }
    expect([
      verdictOf(new SqlError.ConnectionError({ cause })),
      verdictOf(new SqlError.DeadlockError({ cause })),
      verdictOf(new SqlError.SerializationError({ cause })),
      verdictOf(new SqlError.LockTimeoutError({ cause })),
      verdictOf(new SqlError.StatementTimeoutError({ cause })),
      verdictOf(new SqlError.AuthenticationError({ cause })),
      verdictOf(new SqlError.SqlSyntaxError({ cause })),
      verdictOf(new SqlError.UniqueViolation({ cause, constraint: "users_email" }))
    ]).toEqual([
      ["ConnectionError", "transient", "maybe", "effect"],
      ["DeadlockError", "transient", "no", "effect"],
      ["SerializationError", "transient", "no", "effect"],
      ["LockTimeoutError", "transient", "no", "effect"],
      ["StatementTimeoutError", "transient", "no", "effect"],
      ["AuthenticationError", "terminal", "no", "effect"],
      ["SqlSyntaxError", "terminal", "no", "effect"],
      ["UniqueViolation", "terminal", "no", "effect"]
    ])
  })

  it("a busy SQLite is transient, as Effect classifies it", () => {
    expect(Transience.isTransient(sql(SqlError.classifySqliteError({ code: "SQLITE_BUSY" })))).toBe(true)
    expect(Transience.isTerminal(sql(SqlError.classifySqliteError({ code: "SQLITE_CONSTRAINT" })))).toBe(true)
  })

  it("an UnknownError without a known code is unknown", () => {
    expect(Transience.isUnknown(sql(new SqlError.UnknownError({ cause })))).toBe(true)
  })
})

describe("AiError", () => {
  const ai = (reason: AiError.AiErrorReason) => AiError.make({ module: "OpenAi", method: "generate", reason })

  it("a rate limit is load shedding, with its hint", () => {
    expect(Transience.classify(ai(new AiError.RateLimitError({ retryAfter: Duration.seconds(2) })))).toMatchObject({
      transience: "transient",
      applied: "no",
      throttled: true,
      hint: { _tag: "After", millis: 2000 }
    })
  })

  it("an overloaded provider is transient, an exhausted quota terminal", () => {
    expect(Transience.classify(ai(new AiError.InternalProviderError({ description: "" })))).toMatchObject({
      transience: "transient",
      applied: "maybe"
    })
    expect(Transience.isTerminal(ai(new AiError.QuotaExhaustedError({})))).toBe(true)
  })
})

describe("HttpClientError", () => {
  const request = HttpClientRequest.post("https://example.com/orders")
  const response = (status: number) => HttpClientResponse.fromWeb(request, new Response(null, { status }))
  const http = (reason: HttpClientError.HttpClientErrorReason) => new HttpClientError.HttpClientError({ reason })

  it("a transport error goes by the system code below", () => {
    const refused = withCode("ECONNREFUSED", { syscall: "connect" })
    const fetchFailed = new TypeError("", { cause: refused })
    const expired = withCode("CERT_HAS_EXPIRED")
    const verdictOf = (cause: unknown) =>
      Transience.classify(http(new HttpClientError.TransportError({ request, cause })))
    expect(verdictOf(refused)).toMatchObject({ transience: "transient", applied: "no", code: "ECONNREFUSED" })
    expect(verdictOf(fetchFailed)).toMatchObject({ transience: "transient", applied: "no", code: "ECONNREFUSED" })
    expect(verdictOf(expired)).toMatchObject({ transience: "terminal", code: "CERT_HAS_EXPIRED" })
  })

  it("a transport error without a code, as in browsers, is transient, and maybe applied", () => {
    const error = http(new HttpClientError.TransportError({ request, cause: new TypeError("Failed to fetch") }))
    expect(Transience.classify(error)).toMatchObject({
      transience: "transient",
      applied: "maybe",
      reader: "effect",
      code: "TransportError"
    })
  })

  it.each(
    [[429, "transient", true], [503, "transient", true], [502, "transient", false], [404, "terminal", false]] as const
  )("status %d is %s", (status, transience, throttled) => {
    const error = http(new HttpClientError.StatusCodeError({ request, response: response(status) }))
    expect(Transience.classify(error)).toMatchObject({ transience, throttled, reader: "http", code: String(status) })
  })

  it("what the caller got wrong is terminal", () => {
    expect(Transience.classify(http(new HttpClientError.EncodeError({ request })))).toMatchObject({
      transience: "terminal",
      applied: "no"
    })
    expect(Transience.isTerminal(http(new HttpClientError.InvalidUrlError({ request })))).toBe(true)
  })

  it("a body that cannot be read is terminal, a body that was cut off transient, and both maybe applied", () => {
    const decode = (cause: unknown) =>
      Transience.classify(http(new HttpClientError.DecodeError({ request, response: response(200), cause })))
    expect(decode(new SyntaxError())).toMatchObject({ transience: "terminal", applied: "maybe" })
    expect(decode(new TypeError("", { cause: withCode("UND_ERR_SOCKET") }))).toMatchObject({
      transience: "transient",
      applied: "maybe"
    })
  })
})

describe("RateLimiter and CircuitBreaker", () => {
  it.effect("an exceeded rate limit is load shedding, with its hint", () =>
    Effect.gen(function* () {
      const limiter = yield* RateLimiter.RateLimiter
      const consume = limiter.consume({ key: "k", limit: 1, window: "10 seconds" })
      yield* consume
      const error = yield* Effect.flip(consume)
      assert.deepStrictEqual(Transience.classify(error), {
        transience: "transient",
        applied: "no",
        throttled: true,
        hint: { _tag: "After", millis: 10_000 },
        reader: "effect",
        code: "RateLimitExceeded"
      })
    }).pipe(Effect.provide(RateLimiter.layer.pipe(Layer.provide(RateLimiter.layerStoreMemory)))))

  it.effect("an open circuit is transient and not applied, with its hint", () =>
    Effect.gen(function* () {
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(1),
        openDuration: "5 seconds"
      })
      const call = breaker.execute(Effect.fail("down"), { key: "k" })
      yield* Effect.flip(call)
      const error = yield* Effect.flip(call)
      assert.deepStrictEqual(Transience.classify(error), {
        transience: "transient",
        applied: "no",
        throttled: false,
        hint: { _tag: "After", millis: 5000 },
        reader: "effect",
        code: "CircuitOpen"
      })
    }).pipe(Effect.scoped, Effect.provide(CircuitBreaker.layerStoreMemory())))
})

describe("GraphQLClientError", () => {
  it("goes by isRetryable, and by its status for the rest", () => {
    const reason = new GraphQLClientError.TransportError({ description: "", status: 429 })
    const error = new GraphQLClientError.GraphQLClientError({ operation: "query", reason })
    expect(Transience.classify(error)).toMatchObject({ transience: "transient", applied: "no", throttled: true })
  })
})

describe("PlatformError", () => {
  const system = (_tag: PlatformError.SystemErrorTag, cause?: unknown) =>
    PlatformError.systemError({ _tag, module: "FileSystem", method: "open", ...(cause === undefined ? {} : { cause }) })

  it("goes by the system code below", () => {
    expect(Transience.isTransient(system("Unknown", withCode("EMFILE", { syscall: "open" })))).toBe(true)
    expect(Transience.isTerminal(system("NotFound", withCode("ENOENT", { syscall: "open" })))).toBe(true)
  })

  it("without a code it is unknown", () => {
    expect(Transience.isUnknown(system("NotFound"))).toBe(true)
  })
})

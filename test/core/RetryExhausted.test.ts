import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryExhausted, Transience } from "@reprise/core"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SqlError from "effect/sql/SqlError"
import { inspect } from "node:util"
import { recordWith } from "./Recording.ts"

class Timeout extends Data.TaggedError("Timeout")<{ readonly host: string; readonly apiKey?: string }> {
  override get message(): string {
    return `no answer from ${this.host}`
  }
}

const exhausted = <E>(exit: Exit.Exit<unknown, E>): Extract<E, { readonly _tag: "RetryExhausted" }> => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  if (RetryExhausted.is(error)) return error as never
  throw new Error(`Not exhausted: ${String(exit)}`)
}

/** Every attempt takes 250 ms and fails. */
const giveUp = (policy: Policy.Unrestricted, name?: string) =>
  exhausted(
    recordWith(
      (n, clock) => {
        clock.now += 250
        clock.wall += 250
        return Effect.fail(new Timeout({ host: `host ${n}`, apiKey: "sk-123456" }))
      },
      Retry.run(policy, name === undefined ? {} : { name })
    ).exit
  )

const error = giveUp(Policy.attempts(Policy.constant("1 second"), 3), "charge")

describe("RetryExhausted: the fields", () => {
  it("say what gave up, why, after how much, on what", () => {
    expect({
      tag: error._tag,
      operation: error.operation,
      reason: error.reason,
      attempts: error.attempts,
      elapsed: Duration.toMillis(error.elapsed),
      waits: [error.waits.count, Duration.toMillis(error.waits.total)],
      policy: error.policy,
      retryAt: error.retryAt
    }).toEqual({
      tag: "RetryExhausted",
      operation: "charge",
      reason: { _tag: "Attempts" },
      attempts: 3,
      elapsed: 2750,
      waits: [2, 2000],
      policy: "constant(1s) | attempts(3)",
      retryAt: undefined
    })
  })

  it("keep the failed attempts, oldest first", () => {
    expect(error.history.map((failed) => [
      failed.attempt,
      failed.error.host,
      Duration.toMillis(failed.elapsed),
      failed.delay && Duration.toMillis(failed.delay)
    ])).toEqual([[1, "host 1", 250, 1000], [2, "host 2", 1500, 1000], [3, "host 3", 2750, undefined]])
    expect(error.delays).toEqual([Duration.seconds(1), Duration.seconds(1)])
  })

  it("keep the last error: as it was, as the native cause, and in its full cause", () => {
    expect(error.lastError).toBe(error.history[2]?.error)
    expect(error.cause).toBe(error.lastError)
    expect(error.lastCause).toEqual(Cause.fail(error.lastError))
  })

  it("no name is none", () => {
    expect(giveUp(Policy.immediate(1)).operation).toBeUndefined()
  })

  it("the history of a long run is its last failures; counts and totals are whole", () => {
    const long = giveUp(Policy.attempts(Policy.constant("1 second"), 1000))
    expect(long.history.map((_) => _.attempt)).toEqual([991, 992, 993, 994, 995, 996, 997, 998, 999, 1000])
    expect(long.history).toHaveLength(RetryExhausted.mostHistory)
    expect(long.delays).toHaveLength(9)
    expect([long.attempts, long.waits.count, Duration.toMillis(long.waits.total)]).toEqual([1000, 999, 999_000])
  })
})

describe("RetryExhausted: what an engineer on call reads", () => {
  it("message", () => {
    expect(error.message).toBe(
      "charge gave up after 3 attempts in 2.75 s (no attempts left). Last error: Timeout: no answer from host 3"
    )
  })

  it("console.log", () => {
    expect(inspect(error)).toBe(
      [
        "RetryExhausted: charge gave up after 3 attempts in 2.75 s (no attempts left). " +
        "Last error: Timeout: no answer from host 3",
        "  attempt 1: Timeout: no answer from host 1, then waited 1 s",
        "  attempt 2: Timeout: no answer from host 2, then waited 1 s",
        "  attempt 3: Timeout: no answer from host 3",
        "  waited 2 times, 2 s in all",
        "  policy constant(1s) | attempts(3)"
      ].join("\n")
    )
  })

  it("console.log of a long run says how much it leaves out", () => {
    const text = inspect(giveUp(Policy.attempts(Policy.constant("1 second"), 1000)))
    expect(text).toContain("… 990 earlier attempts")
    expect(text.split("\n")).toHaveLength(14)
  })

  it("console.log shows when to come back", () => {
    const hinted = exhausted(
      recordWith(
        () => Effect.fail({ _tag: "Busy", retryAfter: 3_600_000 }),
        Retry.run(Policy.standard.pipe(Policy.honoringRetryAfter()))
      ).exit
    )
    expect(inspect(hinted)).toContain("told to wait 1 h, at most 1 min allowed")
    expect(inspect(hinted)).toContain("asked to come back at 1970-01-01T01:00:00.000Z")
  })

  it("Cause.pretty has the message and the last error as its cause", () => {
    const text = Cause.pretty(Cause.fail(error))
    expect(text).toContain(`RetryExhausted: ${error.message}`)
    expect(text).toContain("[cause]: Timeout: no answer from host 3")
  })

  it("toJSON is plain, flat and bounded", () => {
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      _id: "RetryExhausted",
      message: error.message,
      operation: "charge",
      reason: "Attempts",
      attempts: 3,
      elapsed: 2750,
      waits: { count: 2, total: 2000 },
      lastError: "Timeout: no answer from host 3",
      policy: "constant(1s) | attempts(3)"
    })
  })

  it("one attempt is one attempt", () => {
    expect(giveUp(Policy.attempts(Policy.constant("1 second"), 1)).message).toContain("after 1 attempt in 250 ms")
  })

  it("has a stack and is an Error", () => {
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe("RetryExhausted")
    expect(error.stack).toContain("RetryExhausted")
  })
})

describe("RetryExhausted: the code of the system below an error that says little", () => {
  const lastError = (error: unknown): string | undefined => {
    const { message } = exhausted(recordWith(() => Effect.fail(error), Retry.run(Policy.immediate(1))).exit)
    return /Last error: (.*)$/.exec(message)?.[1]
  }
  const request = HttpClientRequest.get("http://pay.example/")
  const http = (cause: unknown) =>
    new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })
  const coded = (code: unknown, message = "failed") => Object.assign(new Error(message), { code })

  it.each<[what: string, error: unknown, code: string]>([
    ["of a connection, below a client's error", http(coded("ECONNREFUSED")), "ECONNREFUSED"],
    ["of a connection, at the end of several causes", http(new TypeError("no", { cause: coded("EPIPE") })), "EPIPE"],
    ["of undici", http(coded("UND_ERR_HEADERS_TIMEOUT")), "UND_ERR_HEADERS_TIMEOUT"],
    [
      "of a database: SQLSTATE",
      new SqlError.SqlError({ reason: new SqlError.DeadlockError({ cause: coded("40P01") }) }),
      "40P01"
    ],
    ["of its own", coded("ETIMEDOUT"), "ETIMEDOUT"],
    ["of three letters", coded("EIO"), "EIO"],
    ["of 50 letters", coded(`E${"X".repeat(49)}`), `E${"X".repeat(49)}`]
  ])("is named: %s", (_, error, code) => {
    const line = lastError(error)
    expect(line).toMatch(new RegExp(`[^(]+ \\(${code}\\)$`))
    expect(line?.split(code)).toHaveLength(2)
  })

  it("is in the report of each attempt, too", () => {
    const error = exhausted(
      recordWith(() => Effect.fail(http(coded("ECONNREFUSED"))), Retry.run(Policy.immediate(1))).exit
    )
    expect(inspect(error).match(/attempt \d: .*\(ECONNREFUSED\)/g)).toHaveLength(2)
  })

  it("is not named twice where the message has it", () => {
    const refused = coded("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:1")
    expect(lastError(refused)).toBe("Error: connect ECONNREFUSED 127.0.0.1:1")
    expect(lastError({ _tag: "Refused", message: "no: ECONNREFUSED", cause: refused })).toBe(
      "Refused: no: ECONNREFUSED"
    )
    // As the message, where there is none.
    expect(lastError({ _tag: "Refused", code: "ECONNREFUSED" })).toBe("Refused: ECONNREFUSED")
  })

  it.each<[what: string, code: unknown]>([
    ["words", "CARD 4242 DECLINED"],
    ["words at its end", "EPIPE 4242"],
    ["a line more", "EPIPE\n4242"],
    ["a long secret", `SK_LIVE_${"4242".repeat(30)}`],
    ["51 letters", `E${"X".repeat(50)}`],
    ["two letters", "EX"],
    ["six digits", "424242"],
    ["small letters", "sk_live_4242"],
    ["small letters, five of them", "a4242"],
    ["signs", "SK-4242"],
    ["a number", 42_424],
    ["an object", { toString: () => "EPIPE" }]
  ])("is nothing else that is called a code: %s", (_, code) => {
    expect(lastError(coded(code))).toBe("Error: failed")
    expect(lastError({ _tag: "Lost", message: "lost", cause: coded(code) })).toBe("Lost: lost")
  })
})

describe("RetryExhausted: bounds and secrets", () => {
  it.each([
    ["Cause.pretty", (e: RetryExhausted.RetryExhausted) => Cause.pretty(Cause.fail(e))],
    [
      "console.log",
      (e: RetryExhausted.RetryExhausted) => inspect(e, { depth: 10 })
    ],
    ["JSON", (e: RetryExhausted.RetryExhausted) => JSON.stringify(e)],
    [
      "JSON of a cause",
      (e: RetryExhausted.RetryExhausted) => JSON.stringify(Cause.fail(e))
    ],
    ["console.log of a cause", (e: RetryExhausted.RetryExhausted) => inspect(Cause.fail(e), { depth: 10 })],
    [
      "the message",
      (e: RetryExhausted.RetryExhausted) => e.message
    ]
  ])("%s shows nothing of an error but tag and message", (_, print) => {
    expect(print(error)).toContain("no answer from host 3")
    expect(print(error)).not.toContain("sk-123456")
  })

  it("of an error that is no Error, nothing but tag and message either", () => {
    const plain = exhausted(
      recordWith(
        () => Effect.fail({ _tag: "Refused", message: "no", token: "sk-123456" }),
        Retry.run(Policy.immediate(1))
      ).exit
    )
    expect(plain.message).toMatch(/Last error: Refused: no$/)
    expect(inspect(plain) + JSON.stringify(plain)).not.toContain("sk-123456")
  })

  it("of a function, none of its source", () => {
    const plain = exhausted(recordWith(() => Effect.fail(() => "sk-123456"), Retry.run(Policy.immediate(1))).exit)
    expect(plain.message + inspect(plain)).not.toContain("sk-123456")
  })

  it("a long message of an error is cut", () => {
    const long = exhausted(
      recordWith(() => Effect.fail({ message: "x".repeat(100_000) }), Retry.run(Policy.immediate(20))).exit
    )
    expect(long.message.length).toBeLessThan(400)
    expect(inspect(long).length).toBeLessThan(4000)
    expect(JSON.stringify(long).length).toBeLessThan(1000)
  })

  it("a cut does not leave half a character", () => {
    const long = exhausted(
      recordWith(() => Effect.fail({ message: `${"x".repeat(189)}${"🙂".repeat(50)}` }), Retry.run(Policy.immediate(1)))
        .exit
    )
    expect(long.message.isWellFormed()).toBe(true)
  })

  it("a message of many lines stays in its line of the report", () => {
    const lines = exhausted(
      recordWith(() => Effect.fail({ message: "one\ntwo\nattempt 9: forged" }), Retry.run(Policy.immediate(1))).exit
    )
    expect(inspect(lines).split("\n")).toHaveLength(5)
  })
})

describe("RetryExhausted: as an error of Effect", () => {
  it("can be yielded", () => {
    const exit = Effect.runSyncExit(Effect.gen(function* () {
      yield* Effect.void
      return yield* error
    }))
    expect(exit).toEqual(Exit.fail(error))
  })

  it("is caught by its tag and by its guard", () => {
    const failing = Effect.fail(new Timeout({ host: "a" })).pipe(Retry.run(Policy.immediate(1)))
    expect(Effect.runSync(failing.pipe(Effect.catchTag("RetryExhausted", (e) => Effect.succeed(e.lastError.host)))))
      .toBe(
        "a"
      )
    expect(Effect.runSync(failing.pipe(Effect.catchIf(RetryExhausted.is, (e) => Effect.succeed(e.attempts))))).toBe(2)
  })

  it.each([[undefined], [null], ["RetryExhausted"], [{ _tag: "RetryExhausted" }], [new Timeout({ host: "a" })]])(
    "is no %s",
    (value) => {
      expect(RetryExhausted.is(value)).toBe(false)
    }
  )
})

describe("RetryExhausted.schema", () => {
  class Refused extends Schema.TaggedError<Refused>()("Refused", { host: Schema.String }) {}
  class Lost extends Schema.TaggedError<Lost>()("Lost", { at: Schema.DateTimeUtcFromString }) {}
  const schema = RetryExhausted.schema(Schema.Union([Refused, Lost]))
  const encode = Schema.encodeSync(schema)
  const decode = Schema.decodeUnknownSync(schema)
  const through = (value: RetryExhausted.RetryExhausted<Refused | Lost>) =>
    decode(JSON.parse(JSON.stringify(encode(value))))

  const fail = (policy: Policy.Unrestricted, name: string | undefined, retryAfter?: number) =>
    exhausted(
      recordWith(
        (n, clock) => {
          clock.now += 0.5
          return Effect.fail(
            Transience.annotate(new Refused({ host: `host ${n}` }), { transience: "transient", retryAfter })
          )
        },
        Retry.run(policy, name === undefined ? {} : { name })
      ).exit
    )

  it.each<[what: string, error: RetryExhausted.RetryExhausted<Refused>]>([
    ["all of it", fail(Policy.attempts(Policy.constant("1 second"), 3), "charge")],
    ["without a name", fail(Policy.immediate(1), undefined)],
    ["a long run", fail(Policy.immediate(30), "charge")],
    ["with a hint", fail(Policy.standard.pipe(Policy.honoringRetryAfter()), "charge", 3_600_000)],
    ["with a hint beyond all dates", fail(Policy.standard.pipe(Policy.honoringRetryAfter()), "charge", Infinity)]
  ])("goes through JSON: %s", (_, value) => {
    const back = through(value)
    expect(RetryExhausted.is(back)).toBe(true)
    expect(back.message).toBe(value.message)
    expect(inspect(back)).toBe(inspect(value))
    expect(back.reason).toEqual(value.reason)
    expect(back.history).toEqual(value.history)
    expect(back.waits).toEqual(value.waits)
    expect(back.elapsed).toEqual(value.elapsed)
    expect(back.retryAt).toEqual(value.retryAt)
    expect(back.lastError).toBeInstanceOf(Refused)
    expect(back.cause).toBe(back.lastError)
    expect(back.lastCause).toEqual(Cause.fail(back.lastError))
  })

  it("what comes back is terminal to a run around it", () => {
    const back = through(fail(Policy.immediate(1), undefined))
    expect(recordWith(() => Effect.fail(back), Retry.run(Policy.immediate(3))).attempts).toBe(1)
  })

  it("what is none does not decode", () => {
    expect(() => decode({ _tag: "RetryExhausted" })).toThrow(/reason/)
    expect(() => decode({ ...encode(fail(Policy.immediate(1), undefined)), reason: { _tag: "Bored" } })).toThrow(
      /_tag|reason/
    )
  })

  it("an error of another kind does not encode", () => {
    expect(() => encode(new Refused({ host: "a" }) as never)).toThrow(/RetryExhausted/)
    expect(() => encode(error as never)).toThrow(/Refused/)
  })
})

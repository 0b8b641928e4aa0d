import { InvalidNotation, Policy, Transience } from "@reprise/core"
import { describe, expect, it } from "@effect/vitest"
import { Config, ConfigProvider, Effect, Equal, Result, Schema } from "effect"

const predicates = { transient: Transience.isTransient, "my own": () => true, throttled: Transience.isThrottled }

const read = (text: string) => Result.getOrThrow(Policy.parse(text, { predicates }))

const problem = (text: string): InvalidNotation.InvalidNotation => {
  const result = Policy.parse(text, { predicates })
  if (Result.isSuccess(result)) throw new Error(`${text} was read as ${Policy.format(result.success)}`)
  return result.failure
}

describe("Policy.parse reads what Policy.format writes", () => {
  it.each([
    "exponential(500ms) | cap(30s) | jitter | attempts(5) | while(transient)",
    "exponential(1m, 1.5) | jitter(equal) | within(1.5s)",
    "linear(1s) | jitter(0.8, 1.2) | recurs(0)",
    "linear(1s, 0ms) | until(\"my own\") | unlimited",
    "fibonacci(0.25s)",
    "polynomial(1s)",
    "polynomial(1s, 0)",
    "polynomial(250ms, 1.5) | attempts(4)",
    "polynomial(1s, start: 0)",
    "polynomial(1s, 4, start: 0, offset: 15s, spread: 10s) | attempts(26)",
    "constant(2h) | retryAfter(1m)",
    "decorrelated(5ms, 2s) | attempts(1)",
    "delays(0ms, 1s, 1d) | whileTag(Timeout, \"not found\")",
    "immediate(3)",
    "none",
    "concat(immediate(1); exponential(1s) | attempts(3)) | jitter",
    "max(constant(1s); min(constant(2s); immediate(2)))",
    "by(throttled: constant(10s); transient: constant(1s) | jitter; otherwise: none) | attempts(4)"
  ])("%s", (text) => {
    const policy = read(text)
    expect(Equal.equals(read(Policy.format(policy)), policy)).toBe(true)
    expect(Policy.format(policy)).toBe(text.replace("0.25s", "250ms"))
  })

  it("the settings of a polynomial in any order", () => {
    const policy = Policy.polynomial("1 second", 2, { start: 3, offset: "2 seconds", spread: "4 seconds" })
    expect(read("polynomial(1s, spread: 4s, start: 3, offset: 2s)").spec).toEqual(policy.spec)
  })

  it("units, decimals and Effect's long forms", () => {
    for (
      const [text, millis] of [
        ["2000000ns", 2],
        ["1500us", 1.5],
        ["1.5ms", 1.5],
        ["0.5s", 500],
        ["1m", 60_000],
        ["1h", 3_600_000],
        ["2d", 172_800_000],
        ["500 millis", 500],
        ["1 second", 1_000],
        ["3 minutes", 180_000],
        ["1 week", 604_800_000]
      ] as const
    ) expect(read(`constant(${text})`).spec).toEqual({ _tag: "Constant", delay: millis })
  })

  it("any durations a policy can hold come back the same", () => {
    for (const millis of [1, 1.1, 999.999, 1e3 / 3, 1e9 + 0.5, 1e21, 1.7e300, Number.MAX_SAFE_INTEGER]) {
      const policy = Policy.constant(millis)
      expect(read(Policy.format(policy)).spec).toEqual(policy.spec)
    }
  })

  it("spaces and line breaks between the words do not matter", () => {
    const spaced = read(" exponential ( 500 ms )\n|  attempts( 5 )\t")
    expect(spaced.spec).toEqual(read("exponential(500ms)|attempts(5)").spec)
  })

  it("concat of three is read from the right", () => {
    const three = read("concat(immediate(1); immediate(2); immediate(3))")
    expect(Equal.equals(three, read("concat(immediate(1); concat(immediate(2); immediate(3)))"))).toBe(true)
  })

  it("a predicate of the table decides", async () => {
    const policy = read("immediate(1) | while(transient)")
    let executions = 0
    const operation = Effect.suspend(() => {
      executions++
      return Effect.fail({ status: 404 })
    })
    await Effect.runPromise(Effect.ignore(Effect.retry(operation, policy)))
    expect(executions).toBe(1)
  })
})

describe("Policy.parse points at what is wrong", () => {
  it.each(
    [
      ["", 1, "expected a start of a policy here, found the end"],
      ["|", 1, "expected a start of a policy here, found \"|\""],
      ["constant(1s) |", 15, "expected a part of a policy here, found the end"],
      ["constant(1s) constant", 14, "expected \"|\" or the end here, found \"constant\""],
      ["exponential", 12, "expected \"(\" here"],
      ["exponential(500ms", 18, "expected \")\" here, found the end"],
      ["constant(5 fortnights)", 12, "expected a unit here"],
      ["constant(1s) | cap(30)", 22, "expected a unit here"],
      ["constant(soon)", 10, "expected a duration such as 500ms here"],
      ["constant(1s) | attempts(0)", 16, "attempts.n must be an integer of at least 1"],
      ["constant(0ms)", 1, "constant.delay must be a finite duration of at least 1 ms"],
      ["constant(1s) | jitter(2, 1)", 16, "jitteredWith.max must be a finite number of at least 2"],
      ["polynomial(1s, offset: 1)", 25, "expected a unit here"],
      ["polynomial(1s, offset: 1s, 3)", 28, "expected a setting of a polynomial here"],
      ["polynomial(1s, start 3)", 22, "expected \":\" here"],
      ["polynomial(1s, start: 0, start: 1)", 26, "start is given twice"],
      ["polynomial(1s, __proto__: 1)", 16, "is no setting of a polynomial; known are start, offset, spread"],
      ["polynomial(1s, -1)", 1, "polynomial.exponent must be a finite number of at least 0"],
      ["decorrelated(1s)", 14, "expected 2 of these, found 1"],
      ["concat(none)", 1, "concat joins two policies or more"],
      ["by(transient: none; other: none)", 21, "the last branch is called \"otherwise\""],
      ["none | whileTag(\"a", 17, "this text in quotes has no end"],
      ["none | whileTag(\"\\x\")", 17, "as in JSON"],
      ["délais(1s)", 2, "nothing begins with \"é\""],
      ["__proto__(1s)", 1, "is no start of a policy"],
      [
        "none | while(constructor)",
        14,
        "no predicate is called \"constructor\"; known are transient, my own, throttled"
      ]
    ] as const
  )("%j", (text, column, part) => {
    const error = problem(text)
    expect([error.column, error.problem]).toEqual([column, expect.stringContaining(part)])
  })

  it("with a caret under the column", () => {
    expect(problem("constant(1s) | jiter").message.split("\n").slice(1)).toEqual([
      "constant(1s) | jiter",
      "               ^"
    ])
  })

  it("and suggests the nearest word", () => {
    expect(problem("exponentail(1s)").suggestion).toBe("exponential")
    expect(problem("none | atempts(1)").suggestion).toBe("attempts")
    expect(problem("polynomial(1s, ofset: 1s)").suggestion).toBe("offset")
    expect(problem("none | while(transent)").suggestion).toBe("transient")
    expect(problem("constant(2 minuts)").suggestion).toBe("minute")
    expect(problem("quux(1s)").suggestion).toBe(undefined)
  })

  it("a name of any length is cut in the message", () => {
    expect(problem(`none | while(${"a".repeat(1_000_000)})`).message.length).toBeLessThan(400)
  })

  it("a character that cannot be seen is named by its number", () => {
    expect(problem("none \u202e| jitter").problem).toBe("nothing begins with U+202E")
  })

  it("a long text is shown around the column only", () => {
    const { message } = problem(`constant(1s) | ${"jitter | ".repeat(500)}?`)
    expect(message.length).toBeLessThan(400)
  })
})

describe("Policy.parse ends on any text", () => {
  it.each(
    [
      ["100,000 pipes", `constant(1s)${" | jitter".repeat(100_000)}`],
      ["10,000 brackets", "max(".repeat(10_000)],
      ["a list of 1 MB", `delays(${"1s, ".repeat(250_000)}1s)`],
      ["a million tags", `none | whileTag(${"a,".repeat(500_000)}b)`],
      ["a word of 1 MB", "a".repeat(1_000_000)],
      ["a number of 1 MB", `constant(${"9".repeat(1_000_000)}s)`],
      ["a quoted text of 1 MB without an end", `none | while("${"\\\\".repeat(500_000)}`],
      ["1 MB of spaces", " ".repeat(1_000_000)]
    ] as const
  )("%s", (_, text) => {
    expect(InvalidNotation.is(problem(text))).toBe(true)
  })
})

describe("Policy.FromString", () => {
  it("is a codec in a struct", () => {
    const Settings = Schema.Struct({ retry: Policy.FromString(predicates) })
    const settings = Schema.decodeUnknownSync(Settings)({ retry: "constant(1 second) | while(transient)" })
    expect(Schema.encodeSync(Settings)(settings)).toEqual({ retry: "constant(1s) | while(transient)" })
  })

  it.effect("reads a setting", () =>
    Effect.gen(function* () {
      const provider = ConfigProvider.fromUnknown({ RETRY: "constant(1s) | attempts(2)" })
      const policy = yield* Config.schema(Policy.FromString(), "RETRY").parse(provider)
      expect(policy.spec).toEqual(Policy.constant("1 second").pipe(Policy.attempts(2)).spec)
    }))

  it.effect("says what is wrong with a setting, and where", () =>
    Effect.gen(function* () {
      const provider = ConfigProvider.fromUnknown({ RETRY: "constant(1s) | atempts(2)" })
      const error = yield* Effect.flip(Config.schema(Policy.FromString(), "RETRY").parse(provider))
      expect(String(error)).toContain("Column 16")
      expect(String(error)).toContain("did you mean attempts?")
    }))
})

import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, Policy, Retry } from "@reprise/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

const second = Policy.constant("1 second")
const always = (): boolean => true

/** The `InvalidPolicy` that building a policy throws. */
const invalid = (build: () => unknown): InvalidPolicy.InvalidPolicy => {
  try {
    build()
  } catch (error) {
    if (InvalidPolicy.is(error)) return error
    throw error
  }
  throw new Error("The policy was built")
}

type Row = readonly [call: string, build: () => unknown, argument: string, value: unknown, rule: RegExp]

const rows: ReadonlyArray<Row> = [
  ["exponential(-1)", () => Policy.exponential(-1), "exponential.base", -1, /at least 1 ms/],
  ["exponential(0)", () => Policy.exponential(0), "exponential.base", 0, /at least 1 ms/],
  ["exponential(NaN)", () => Policy.exponential(NaN), "exponential.base", NaN, /finite/],
  ["exponential(Infinity)", () => Policy.exponential(Infinity), "exponential.base", Infinity, /finite/],
  ["exponential('abc')", () => Policy.exponential("abc" as never), "exponential.base", "abc", /duration/],
  ["exponential(null)", () => Policy.exponential(null as never), "exponential.base", null, /duration/],
  ["exponential(undefined)", () => Policy.exponential(undefined as never), "exponential.base", undefined, /duration/],
  [
    "exponential(infinity)",
    () => Policy.exponential(Duration.infinity),
    "exponential.base",
    Duration.infinity,
    /finite/
  ],
  ["exponential('Infinity')", () => Policy.exponential("Infinity"), "exponential.base", "Infinity", /finite/],
  ["exponential('-1 seconds')", () => Policy.exponential("-1 seconds"), "exponential.base", "-1 seconds", /at least/],
  ["exponential(factor 0.5)", () => Policy.exponential(1, 0.5), "exponential.factor", 0.5, /at least 1/],
  ["exponential(factor NaN)", () => Policy.exponential(1, NaN), "exponential.factor", NaN, /finite/],
  ["exponential(factor Infinity)", () => Policy.exponential(1, Infinity), "exponential.factor", Infinity, /finite/],
  ["exponential(factor '2')", () => Policy.exponential(1, "2" as never), "exponential.factor", "2", /number/],
  ["linear(0)", () => Policy.linear(0), "linear.base", 0, /at least 1 ms/],
  ["linear(1, -1)", () => Policy.linear(1, -1), "linear.increment", -1, /at least 0 ms/],
  ["linear(1, NaN)", () => Policy.linear(1, NaN), "linear.increment", NaN, /finite/],
  ["linear(1, Infinity)", () => Policy.linear(1, Infinity), "linear.increment", Infinity, /finite/],
  ["fibonacci(0)", () => Policy.fibonacci(0), "fibonacci.base", 0, /at least 1 ms/],
  ["polynomial(0)", () => Policy.polynomial(0), "polynomial.base", 0, /at least 1 ms/],
  ["polynomial(1, -1)", () => Policy.polynomial(1, -1), "polynomial.exponent", -1, /at least 0/],
  ["polynomial(1, NaN)", () => Policy.polynomial(1, NaN), "polynomial.exponent", NaN, /finite/],
  ["polynomial(1, Infinity)", () => Policy.polynomial(1, Infinity), "polynomial.exponent", Infinity, /finite/],
  ["polynomial options null", () => Policy.polynomial(1, 2, null as never), "polynomial.options", null, /options/],
  ["polynomial start -1", () => Policy.polynomial(1, 2, { start: -1 }), "polynomial.start", -1, /integer/],
  ["polynomial start 0.5", () => Policy.polynomial(1, 2, { start: 0.5 }), "polynomial.start", 0.5, /integer/],
  ["polynomial offset -1", () => Policy.polynomial(1, 2, { offset: -1 }), "polynomial.offset", -1, /at least 0 ms/],
  ["polynomial spread NaN", () => Policy.polynomial(1, 2, { spread: NaN }), "polynomial.spread", NaN, /finite/],
  [
    "polynomial spread Infinity",
    () => Policy.polynomial(1, 2, { spread: Infinity }),
    "polynomial.spread",
    Infinity,
    /finite/
  ],
  ["constant(0)", () => Policy.constant(0), "constant.delay", 0, /at least 1 ms/],
  ["constant('1 nanos')", () => Policy.constant("1 nanos"), "constant.delay", "1 nanos", /at least 1 ms/],
  ["constant(999_999n)", () => Policy.constant(999_999n), "constant.delay", 999_999n, /at least 1 ms/],
  ["decorrelated base 0", () => Policy.decorrelated({ base: 0, cap: 1 }), "decorrelated.base", 0, /at least 1 ms/],
  ["decorrelated cap < base", () => Policy.decorrelated({ base: 10, cap: 9 }), "decorrelated.cap", 9, /at least 10 ms/],
  [
    "decorrelated cap Infinity",
    () => Policy.decorrelated({ base: 10, cap: Infinity }),
    "decorrelated.cap",
    Infinity,
    /finite/
  ],
  ["delays([])", () => Policy.delays([]), "delays.list", [], /at least one element/],
  ["delays('1s')", () => Policy.delays("1s" as never), "delays.list", "1s", /list/],
  ["delays([1, -1])", () => Policy.delays([1, -1]), "delays.list[1]", -1, /at least 0 ms/],
  ["delays([NaN])", () => Policy.delays([NaN]), "delays.list[0]", NaN, /finite/],
  [
    "delays with a hole",
    () => Policy.delays(Object.assign<Array<number>, object>([], { length: 1 })),
    "delays.list[0]",
    undefined,
    /duration/
  ],
  ["immediate(0)", () => Policy.immediate(0), "immediate.retries", 0, /integer of at least 1/],
  ["immediate(1.5)", () => Policy.immediate(1.5), "immediate.retries", 1.5, /integer/],
  ["attempts(0)", () => second.pipe(Policy.attempts(0)), "attempts.n", 0, /integer of at least 1/],
  ["attempts(-1)", () => second.pipe(Policy.attempts(-1)), "attempts.n", -1, /integer of at least 1/],
  ["attempts(1.5)", () => second.pipe(Policy.attempts(1.5)), "attempts.n", 1.5, /integer/],
  ["attempts(NaN)", () => second.pipe(Policy.attempts(NaN)), "attempts.n", NaN, /integer/],
  ["attempts(Infinity)", () => second.pipe(Policy.attempts(Infinity)), "attempts.n", Infinity, /integer/],
  ["attempts('5')", () => second.pipe(Policy.attempts("5" as never)), "attempts.n", "5", /integer/],
  ["attempts(2 ** 53)", () => second.pipe(Policy.attempts(2 ** 53)), "attempts.n", 2 ** 53, /integer/],
  ["attempts data-first", () => Policy.attempts(second, 0), "attempts.n", 0, /integer of at least 1/],
  ["recurs(-1)", () => second.pipe(Policy.recurs(-1)), "recurs.n", -1, /integer of at least 0/],
  ["recurs(0.5)", () => second.pipe(Policy.recurs(0.5)), "recurs.n", 0.5, /integer/],
  ["within(0)", () => second.pipe(Policy.within(0)), "within.duration", 0, /at least 1 ms/],
  ["within(Infinity)", () => second.pipe(Policy.within(Infinity)), "within.duration", Infinity, /finite/],
  ["capped(0)", () => second.pipe(Policy.capped(0)), "capped.max", 0, /at least 1 ms/],
  ["capped(NaN)", () => second.pipe(Policy.capped(NaN)), "capped.max", NaN, /finite/],
  [
    "jitteredWith min > max",
    () => second.pipe(Policy.jitteredWith({ min: 2, max: 1 })),
    "jitteredWith.max",
    1,
    /at least 2/
  ],
  [
    "jitteredWith min < 0",
    () => second.pipe(Policy.jitteredWith({ min: -1, max: 1 })),
    "jitteredWith.min",
    -1,
    /at least 0/
  ],
  [
    "jitteredWith max 0",
    () => second.pipe(Policy.jitteredWith({ min: 0, max: 0 })),
    "jitteredWith.max",
    0,
    /greater than 0/
  ],
  [
    "jitteredWith max Infinity",
    () => second.pipe(Policy.jitteredWith({ min: 0, max: Infinity })),
    "jitteredWith.max",
    Infinity,
    /finite/
  ],
  [
    "jitteredWith NaN",
    () => second.pipe(Policy.jitteredWith({ min: NaN, max: 1 })),
    "jitteredWith.min",
    NaN,
    /finite/
  ],
  [
    "jitteredWith('some')",
    () => second.pipe(Policy.jitteredWith("some" as never)),
    "jitteredWith.kind",
    "some",
    /full/
  ],
  [
    "honoringRetryAfter max 0",
    () => second.pipe(Policy.honoringRetryAfter({ max: 0 })),
    "honoringRetryAfter.max",
    0,
    /at least 1 ms/
  ],
  [
    "honoringRetryAfter max Infinity",
    () => second.pipe(Policy.honoringRetryAfter({ max: Infinity })),
    "honoringRetryAfter.max",
    Infinity,
    /finite/
  ],
  ["whileInput(5)", () => second.pipe(Policy.whileInput(5 as never)), "whileInput.predicate", 5, /function/],
  ["whileInput(always, '')", () => second.pipe(Policy.whileInput(always, "")), "whileInput.name", "", /not empty/],
  ["untilInput(null)", () => second.pipe(Policy.untilInput(null as never)), "untilInput.predicate", null, /function/],
  [
    "whileTag()",
    () => second.pipe((Policy.whileTag as (...tags: ReadonlyArray<string>) => any)()),
    "whileTag.tags",
    [],
    /at least one/
  ],
  ["whileTag('')", () => second.pipe(Policy.whileTag("")), "whileTag.tags", "", /not empty/],
  ["whileTag(5)", () => second.pipe(Policy.whileTag(5 as never)), "whileTag.tags", 5, /text/],
  ["max([])", () => Policy.max([] as never), "max.policies", [], /at least one/],
  ["min([])", () => Policy.min([] as never), "min.policies", [], /at least one/],
  ["byInput([])", () => Policy.byInput([] as never, second), "byInput.cases", [], /at least one/],
  [
    "byInput with no predicate",
    () => Policy.byInput([["busy", "busy" as never, second]], second),
    "byInput.predicate",
    "busy",
    /function/
  ],
  ["byInput with no name", () => Policy.byInput([["", always, second]], second), "byInput.name", "", /not empty/]
]

describe("R1: a bad argument throws where the policy is built, naming argument, value and rule", () => {
  it.each(rows)("%s", (_, build, argument, value, rule) => {
    const error = invalid(build)
    expect(error.argument).toBe(argument)
    expect(error.value).toEqual(value)
    expect(error.rule).toMatch(rule)
    expect(error.message).toContain(`${argument} must be ${error.rule}, got `)
  })
})

describe("R1: something else than a policy is refused by name", () => {
  // A plain schedule is what people will try, where types are switched off.
  const schedule = Schedule.spaced("1 second") as never

  it.each<[call: string, build: () => unknown, argument: RegExp]>([
    ["concat", () => Policy.concat(second, schedule), /concat/],
    ["max", () => Policy.max([second, schedule]), /max/],
    ["min", () => Policy.min([second, schedule]), /min/],
    ["byInput, a case", () => Policy.byInput([["busy", always, schedule]], second), /byInput/],
    ["byInput, otherwise", () => Policy.byInput([["busy", always, second]], schedule), /byInput/],
    ["attempts", () => Policy.attempts(schedule, 3), /attempts/],
    ["contract, with no contract", () => Policy.contract(undefined as never), /contract/],
    ["Retry.run", () => Retry.run(schedule), /run\.policy/]
  ])("%s", (_, build, argument) => {
    expect(invalid(build).argument).toMatch(argument)
  })
})

describe("R1: the least that is allowed is allowed", () => {
  it.each<[notation: string, build: () => Policy.Any]>([
    ["exponential(1ms, 1)", () => Policy.exponential(1, 1)],
    ["linear(1ms, 0ms)", () => Policy.linear(1, 0)],
    ["delays(0ms)", () => Policy.delays([0])],
    ["decorrelated(1ms, 1ms)", () => Policy.decorrelated({ base: 1, cap: 1 })],
    ["constant(1s) | attempts(1)", () => Policy.attempts(second, 1)],
    ["constant(1s) | recurs(0)", () => Policy.recurs(second, 0)],
    ["constant(1s) | jitter(1, 1)", () => Policy.jitteredWith(second, { min: 1, max: 1 })],
    ["constant(1s) | retryAfter(1ms)", () => Policy.honoringRetryAfter(second, { max: 1 })]
  ])("%s", (notation, build) => {
    expect(Policy.format(build())).toBe(notation)
  })
})

describe("R1: no endless policy without delay", () => {
  const tiny = Policy.jitteredWith({ min: 0, max: 0.0001 })

  it.each<[what: string, build: () => unknown]>([
    ["a jitter that leaves nothing", () => tiny(second.pipe(Policy.capped("1 second")))],
    ["a cap below the jitter's reach", () => tiny(Policy.exponential("1 second")).pipe(Policy.capped(1), tiny)],
    ["concat: a long wait that is over soon", () => tiny(Policy.concat(Policy.delays(["1 hour"]), Policy.constant(1)))],
    [
      "byInput: a long wait for other errors",
      () => tiny(Policy.byInput([["slow", always, Policy.constant("1 hour")]], Policy.constant(1)))
    ],
    [
      "min: a long wait that is never the shortest",
      () => tiny(Policy.min([Policy.constant(1), Policy.constant("1 hour")]))
    ]
  ])("%s", (_, build) => {
    expect(invalid(build).rule).toMatch(/1 ms/)
  })

  it("a finite one may wait as little as it likes", () => {
    expect(Policy.format(tiny(Policy.recurs(Policy.constant(1), 2)))).toBe(
      "constant(1ms) | recurs(2) | jitter(0, 0.0001)"
    )
  })
})

describe("R14: a policy without an end is refused unless it says unlimited", () => {
  const endless: ReadonlyArray<[notation: string, policy: Policy.Unrestricted]> = [
    ["exponential(1s)", Policy.exponential("1 second")],
    ["constant(1s) | cap(1s) | jitter", second.pipe(Policy.capped("1 second"), Policy.jittered)],
    ["concat(delays(1s); constant(1s))", Policy.concat(Policy.delays(["1 second"]), second)],
    ["concat(constant(1s); delays(1s))", Policy.concat(second, Policy.delays(["1 second"]))],
    ["min(constant(1s); delays(1s))", Policy.min([second, Policy.delays(["1 second"])])],
    [
      "by(busy: constant(1s) | attempts(2); otherwise: constant(1s))",
      Policy.byInput(
        [["busy", always, Policy.attempts(second, 2)]],
        second
      )
    ],
    [
      "by(busy: constant(1s); otherwise: constant(1s) | attempts(2))",
      Policy.byInput(
        [["busy", always, second]],
        Policy.attempts(second, 2)
      )
    ],
    // `unlimited` says it of its own member alone.
    ["min(constant(1s) | unlimited; constant(1s))", Policy.min([Policy.unlimited(second), second])]
  ]

  it.each(endless)("Retry.run refuses %s", (notation, policy) => {
    const error = invalid(() => Retry.run(policy))
    expect(error.argument).toBe("run.policy")
    expect(error.value).toBe(notation)
  })

  it("data-first it throws before there is an effect to run", () => {
    expect(invalid(() => Retry.run(Effect.void, second)).argument).toBe("run.policy")
  })

  it("Retry.runKeyed and Retry.make refuse it too", () => {
    expect(invalid(() => Retry.runKeyed(second, () => Effect.void)).argument).toBe("runKeyed.policy")
    expect(invalid(() => Retry.make({ name: "it", policy: second, idempotency: "idempotent" })).argument).toBe(
      "make.policy"
    )
  })

  it("the message names the three ways and the fourth", () => {
    const { message } = invalid(() => Retry.run(second))
    for (const way of ["attempts(n)", "recurs(n)", "within(duration)", "unlimited"]) expect(message).toContain(way)
  })

  it("a bad option is refused in the same place", () => {
    const error = invalid(() => Retry.run(Policy.standard, { attemptTimeout: 0 }))
    expect([error.argument, error.value]).toEqual(["run.attemptTimeout", 0])
  })

  it("an unknown kind of idempotency is refused", () => {
    const error = invalid(() => Retry.make({ name: "it", policy: Policy.standard, idempotency: "sure" as never }))
    expect([error.argument, error.value]).toEqual(["make.idempotency", "sure"])
  })

  it.each<[policy: Policy.Any]>([
    [Policy.attempts(second, 2)],
    [Policy.recurs(second, 2)],
    [Policy.within(second, "1 minute")],
    [Policy.delays([1])],
    [Policy.immediate(1)],
    [Policy.none],
    [Policy.unlimited(second)],
    [Policy.max([second, Policy.delays([1])])],
    [Policy.max([second, Policy.unlimited(second)])],
    [Policy.concat(Policy.delays([1]), Policy.attempts(second, 2))],
    [Policy.min([Policy.unlimited(second), Policy.delays([1])])],
    [Policy.unlimited(second).pipe(Policy.jittered, Policy.whileTag("Busy"))]
  ])("%s is accepted", (policy) => {
    expect(Retry.run(policy)).toBeTypeOf("function")
  })
})

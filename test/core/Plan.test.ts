import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, Plan, Policy } from "@reprise/core"
import { Result } from "effect"

const of = (policy: Policy.Any, options?: Plan.Options): Plan.Plan => Result.getOrThrow(Plan.of(policy, options))

const limited = (policy: Policy.Any, options?: Plan.Options): Plan.Limited => {
  const plan = of(policy, options)
  if (plan._tag !== "Limited") throw new Error(`${plan._tag}: ${plan.policy}`)
  return plan
}

const failure = (policy: Policy.Any, options?: Plan.Options) => {
  const result = Plan.of(policy, options)
  return Result.isFailure(result) ? result.failure : undefined
}

const throttled = { _tag: "Throttled" }
const isThrottled = (error: unknown): boolean => error === throttled
const paced = Policy.byInput(
  [["throttled", isThrottled, Policy.exponential("1 second")]],
  Policy.exponential("50 millis")
).pipe(Policy.attempts(4))

const never = (): boolean => false
const manyKinds = Policy.max([
  Policy.byInput(
    [
      [
        "transient",
        never,
        Policy.byInput(
          [["throttled", never, Policy.exponential(493, 1.5)], ["unknown", never, Policy.none]],
          Policy.exponential(200).pipe(Policy.attempts(3))
        )
      ],
      ["throttled", never, Policy.linear(327, 126).pipe(Policy.whileInput(never, "throttled"))]
    ],
    Policy.constant(920).pipe(Policy.within(255))
  ),
  Policy.exponential(755, 10),
  Policy.fibonacci(291)
])

/** A run of which every attempt fails, with its own draws and attempts. */
const run = (policy: Policy.Any, attemptTimeout: number, next: () => number) => {
  const { start, step } = Policy.stepper(policy)
  const state = start()
  const retries: Array<{ readonly wait: number; readonly start: number }> = []
  let elapsed = 0
  for (let attempt = 1;; attempt++) {
    elapsed += next() * attemptTimeout
    const failed = { attempt, elapsed, now: 0, timedOut: true }
    const wait = step(state, failed, undefined, { nextDoubleUnsafe: next })
    if (wait < 0) return { attempts: attempt, elapsed, retries }
    elapsed += wait
    retries.push({ wait, start: elapsed })
  }
}

/** What a run did that its plan does not allow. */
const breaches = ({ attempts, elapsed, retries }: ReturnType<typeof run>, plan: Plan.Plan): ReadonlyArray<string> => {
  const found: Array<string> = []
  const hold = (what: string, least: number, value: number, most: number) => {
    if (value < least || value > most * (1 + 1e-12)) found.push(`${what}: ${value} is not in ${least} to ${most}`)
  }
  retries.forEach(({ start, wait }, index) => {
    const delay = plan.delays[index]
    if (delay === undefined) return
    hold("wait", delay.min, wait, delay.max)
    hold("start", delay.startEarliest, start, delay.startLatest)
  })
  if (plan._tag === "Limited") hold("attempts", 1, attempts, plan.attempts)
  if (plan._tag !== "Unlimited") hold("end", 0, elapsed, plan.worstCase ?? Infinity)
  return found
}

/** The same numbers every time, extremes among them. */
const numbers = (seed: number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const drawn = state / 2 ** 32
    return drawn < 0.1 ? 0 : drawn > 0.9 ? 1 - 2 ** -53 : drawn
  }
}

describe("Plan.of", () => {
  it("M2: exponential(500ms) | attempts(5) waits 7.5 s at most, plus five timeouts", () => {
    const plan = limited(Policy.exponential("500 millis").pipe(Policy.attempts(5)), { attemptTimeout: "2 seconds" })
    expect(plan).toMatchObject({
      attempts: 5,
      retries: 4,
      end: "Attempts",
      amplification: 5,
      worstCase: 7500 + 5 * 2000
    })
    expect(plan.total.max).toBe(7500)
    expect(plan.delays.map((_) => _.startEarliest)).toEqual([500, 1500, 3500, 7500])
    expect(plan.delays.map((_) => _.startLatest)).toEqual([2500, 5500, 9500, 15_500])
  })

  it("full jitter: from nothing to the supremum", () => {
    const [first, second] = limited(Policy.standard).delays
    expect(first).toEqual({ retry: 1, reached: 1, min: 0, mean: 100, max: 200, startEarliest: 0, startLatest: 200 })
    expect(second).toEqual({ retry: 2, reached: 1, min: 0, mean: 200, max: 400, startEarliest: 0, startLatest: 600 })
  })

  it.each<[policy: Policy.Any]>([
    [Policy.standard],
    [Policy.decorrelated({ base: 10, cap: 300 }).pipe(Policy.attempts(6))],
    [Policy.exponential(10).pipe(Policy.jittered, Policy.attempts(8), Policy.within(300))],
    [Policy.constant(100).pipe(Policy.jittered, Policy.within(300))],
    [Policy.decorrelated({ base: 10, cap: 300 }).pipe(Policy.within(400), Policy.attempts(9))],
    [Policy.concat(Policy.immediate(2), Policy.fibonacci(20)).pipe(Policy.jitteredWith("equal"), Policy.recurs(6))],
    [Policy.max([Policy.linear(10), Policy.constant(25)]).pipe(Policy.jittered, Policy.jittered, Policy.attempts(5))],
    [Policy.min([Policy.linear(10), Policy.delays([100, 5])]).pipe(Policy.capped(20), Policy.attempts(5))]
  ])("bounds hold in every run: %s", (policy) => {
    const plan = of(policy, { attemptTimeout: 40 })
    const next = numbers(42)
    const runs = Array.from({ length: 200 }, () => breaches(run(policy, 40, next), plan))
    expect(runs.flat()).toEqual([])
  })

  it("the worst case holds where time chooses what comes next", () => {
    const fast = Policy.exponential(10).pipe(Policy.jittered, Policy.within(100))
    const policy = Policy.concat(fast, Policy.delays([300, 400]))
    const plan = of(policy, { attemptTimeout: 40 })
    if (plan._tag !== "TimeLimited") throw new Error(plan._tag)
    const next = numbers(7)
    const latest = Math.max(...Array.from({ length: 500 }, () => run(policy, 40, next).elapsed))
    expect(latest).toBeLessThanOrEqual(plan.worstCase!)
    expect(latest).toBeGreaterThan(0.7 * plan.worstCase!)
  })

  it("the worst case is that of the slowest run, which need not be the longest", () => {
    const policy = Policy.concat(
      Policy.immediate(3).pipe(Policy.whileInput(isThrottled), Policy.within("9 seconds")),
      Policy.constant("10 seconds").pipe(Policy.attempts(2))
    ).pipe(Policy.attempts(4))
    expect(limited(policy, { attemptTimeout: 50 }).worstCase).toBe(10_100)
  })

  it("lists no retry that time never allows", () => {
    const first = Policy.constant("1 second").pipe(Policy.within(211))
    const policy = Policy.concat(first, Policy.constant(778)).pipe(Policy.within(3853))
    const plan = limited(policy, { attemptTimeout: "5 seconds" })
    expect(plan.delays.map((_) => _.startEarliest)).toEqual([778, 1556, 2334, 3112])
    expect(plan).toMatchObject({ attempts: 5, worstCase: 8853, amplification: 5 })
    expect(Plan.toAscii(plan)).toContain("778 ms to 3.85 s")
  })

  it("takes no stop for a wait where time ends what has no end for other failures", () => {
    const policy = Policy.byInput(
      [["throttled", isThrottled, Policy.constant(250)]],
      Policy.exponential("1500 millis").pipe(Policy.within("6900 millis"), Policy.jittered)
    )
    const { _tag, delays } = of(policy)
    expect(_tag).toBe("Unlimited")
    expect(delays[2]!.max).toBeGreaterThan(4000)
    expect(delays.filter(({ max, mean, min }) => !(0 <= min && min <= mean && mean <= max))).toEqual([])
  })

  it("is quick where many kinds of failure can follow each other", () => {
    // Both were ten seconds, and a test may take one.
    expect(of(manyKinds, { attemptTimeout: "1 second" })._tag).toBe("Limited")
    expect(of(manyKinds.pipe(Policy.attempts(11)), { attemptTimeout: "1 second" })._tag).toBe("Limited")
    expect(Result.isFailure(Plan.fits(manyKinds, { within: "1 day" }))).toBe(true)
  })

  it("more orders of failures than can be followed are a typed error", () => {
    const error = failure(manyKinds.pipe(Policy.attempts(10_000)))
    expect(error).toBeInstanceOf(Plan.PlanTooLarge)
    expect(error?.message).toContain("can fail in more orders than a plan can follow")
    const unfit = Plan.fits(manyKinds.pipe(Policy.attempts(10_000)), { within: "1 day" })
    expect(Result.isFailure(unfit) && unfit.failure._tag).toBe("PlanTooLarge")
  })

  it("a timeout past all counting is still a number", () => {
    const plan = limited(Policy.standard, { attemptTimeout: 1.7e308 })
    expect(plan.worstCase).toBeLessThan(Infinity)
    expect(Plan.toJson(plan).worstCase).toBe(plan.worstCase)
    expect(Plan.toAscii(plan)).not.toContain("Infinity")
  })

  it("has no worst case without an attempt timeout", () => {
    expect(limited(Policy.standard).worstCase).toBeUndefined()
  })

  it("a policy without an end says so, with the first ten waits and no other number", () => {
    const plan = of(Policy.constant("1 second").pipe(Policy.unlimited), { attemptTimeout: 100 })
    expect(plan._tag).toBe("Unlimited")
    expect(Object.keys(plan)).toEqual(["_tag", "policy", "description", "attemptTimeout", "uncountedHint", "delays"])
    expect(plan.delays.map((_) => _.max)).toEqual(Array.from({ length: 10 }, () => 1000))
    expect(Plan.toJson(plan)).toMatchObject({
      attempts: null,
      retries: null,
      total: null,
      worstCase: null,
      amplification: null
    })
  })

  it("an elapsed limit counts the attempts that it leaves time for", () => {
    const plan = limited(Policy.exponential("1 second").pipe(Policy.within("10 seconds")), {
      attemptTimeout: "1 second"
    })
    expect(plan).toMatchObject({ attempts: 4, end: "Elapsed", worstCase: 11_000 })
    expect(plan.total).toMatchObject({ max: 7000, precision: "exact" })
  })

  it("an elapsed limit that can stop a run early lowers the load", () => {
    const policy = Policy.constant("1 second").pipe(
      Policy.jitteredWith("equal"),
      Policy.attempts(9),
      Policy.within("5 seconds")
    )
    const plan = limited(policy, { attemptTimeout: "1 second" })
    expect(plan).toMatchObject({ attempts: 9, worstCase: 6000 })
    expect(plan.amplification).toBeGreaterThan(6)
    expect(plan.amplification).toBeLessThan(8)
    expect(plan.total).toMatchObject({ min: 4000, max: 5000, precision: "simulated" })
    const reached = plan.delays.map((_) => _.reached)
    expect(reached).toEqual(reached.toSorted((a, b) => b - a))
    expect(plan.delays[7]!.reached).toBeLessThan(0.1)
  })

  it("time alone does not bound attempts whose waits may be nothing", () => {
    const plan = of(Policy.constant("1 second").pipe(Policy.jittered, Policy.within("10 seconds")), {
      attemptTimeout: 500
    })
    if (plan._tag !== "TimeLimited") throw new Error(plan._tag)
    expect(plan.worstCase).toBe(10_500)
    // Renewal theory: (10 s + the mean of the wait that overshoots, 2/3 s) / 0.5 s, the last wait not granted.
    expect(plan.amplification).toBeCloseTo(10.6667 / 0.5 - 1 + 0.33, 0)
    expect(plan.total.max).toBe(10_000)
    expect(Plan.toJson(plan)).toMatchObject({ attempts: null, retries: null, worstCase: 10_500 })
  })

  it("the default failure passes classification and goes to otherwise", () => {
    expect(limited(paced).total.max).toBe(350)
    expect(limited(Policy.standard.pipe(Policy.whileTag("Busy"))).attempts).toBe(3)
  })

  it("plans for the error that it is given", () => {
    expect(limited(paced, { input: throttled }).total.max).toBe(7000)
    const refused = limited(Policy.standard.pipe(Policy.whileTag("Busy")), { input: throttled })
    expect(refused).toMatchObject({ attempts: 1, retries: 0, end: "Terminal", delays: [], amplification: 1 })
  })

  it("adds the hint that every failure carries, where hints are followed", () => {
    const policy = Policy.constant(100).pipe(Policy.honoringRetryAfter({ max: "5 seconds" }), Policy.attempts(2))
    expect(limited(policy, { hint: "3 seconds" }).delays[0]).toMatchObject({ min: 3100, max: 3400 })
    expect(limited(Policy.standard, { hint: "3 seconds" }).total.max).toBe(600)
    expect(limited(policy, { hint: "6 seconds" })).toMatchObject({ attempts: 1, end: "RetryAfterTooLong" })
  })

  it("a hint and an error go together", () => {
    const policy = paced.pipe(Policy.honoringRetryAfter())
    expect(limited(policy, { input: throttled, hint: "10 seconds" }).delays[0]).toMatchObject({
      min: 11_000,
      max: 12_000
    })
    expect(limited(policy.pipe(Policy.whileTag("Throttled")), { input: throttled, hint: 1000 }).attempts).toBe(4)
    expect(limited(policy.pipe(Policy.whileTag("Busy")), { input: throttled, hint: 1000 }).attempts).toBe(1)
  })

  it("none is one attempt", () => {
    expect(limited(Policy.none, { attemptTimeout: "1 second" })).toMatchObject({
      attempts: 1,
      delays: [],
      worstCase: 1000
    })
  })

  it("F17: a one-second base that doubles 16 times reaches hours, in plain sight", () => {
    const plan = limited(Policy.exponential("1 second").pipe(Policy.attempts(18)))
    expect(plan.delays[16]!.max).toBe(65_536_000)
    expect(Plan.toAscii(plan)).toContain("longest wait 18 h 12 min")
  })

  it("F25: shows the load of a default, jittered or not", () => {
    expect(limited(Policy.standard).amplification).toBe(3)
    expect(Plan.toAscii(limited(Policy.standard))).toContain("Load when every call fails: 3x")
  })

  it("is the same every time", () => {
    const policy = Policy.decorrelated({ base: 10, cap: 1000 }).pipe(Policy.attempts(5))
    expect(of(policy)).toEqual(of(policy))
  })

  it.each<[policy: Policy.Any]>([
    [Policy.constant(1).pipe(Policy.attempts(10_001))],
    [Policy.constant(1).pipe(Policy.within("1 hour"))],
    [Policy.constant(1).pipe(Policy.jittered, Policy.within("1 hour"))]
  ])("more than 10,000 attempts are too many: %s", (policy) => {
    const error = failure(policy)
    expect(error).toBeInstanceOf(Plan.PlanTooLarge)
    expect(error).toMatchObject({ _tag: "PlanTooLarge", policy: Policy.format(policy), most: 10_000 })
  })

  it("10,000 attempts are a plan", () => {
    expect(limited(Policy.constant(1).pipe(Policy.attempts(10_000))).total.max).toBe(9999)
  })

  it.each<[options: Plan.Options, argument: string]>([
    [{ attemptTimeout: 0 }, "plan.attemptTimeout"],
    [{ attemptTimeout: NaN }, "plan.attemptTimeout"],
    [{ hint: -1 }, "plan.hint"],
    [{ hint: Infinity }, "plan.hint"]
  ])("a bad option is a typed error: %o", (options, argument) => {
    const error = failure(Policy.standard, options)
    expect(InvalidPolicy.is(error)).toBe(true)
    expect(error).toMatchObject({ argument })
  })

  it("a predicate that throws is a defect, as in a run", () => {
    const policy = Policy.standard.pipe(Policy.whileInput((): boolean => {
      throw new Error("broken")
    }, "broken"))
    expect(() => Plan.of(policy, { input: "error" })).toThrow("broken")
  })
})

describe("Plan.success", () => {
  it("an endless policy always succeeds in the end, unless nothing ever does", () => {
    const policy = Policy.constant(1).pipe(Policy.unlimited)
    expect(Result.getOrThrow(Plan.success(policy, { failureRate: 0.5 }))).toMatchObject({ success: 1, executions: 2 })
    expect(Result.getOrThrow(Plan.success(policy, { failureRate: 1 }))).toMatchObject({
      success: 0,
      executions: undefined
    })
  })

  it("counts only the attempts that time allows", () => {
    const policy = Policy.constant("1 second").pipe(
      Policy.jitteredWith("equal"),
      Policy.attempts(9),
      Policy.within("5 seconds")
    )
    const { executions } = Result.getOrThrow(Plan.success(policy, { failureRate: 1 }))
    expect(executions).toBeCloseTo(limited(policy).amplification, 10)
  })

  it.each([-0.1, 1.1, NaN])("refuses the failure rate %s", (failureRate) => {
    expect(Result.isFailure(Plan.success(Policy.standard, { failureRate }))).toBe(true)
  })
})

import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, Plan, Policy } from "@reprise/core"
import { Result } from "effect"

const misfit = (policy: Policy.Any, contract: Plan.Contract): Plan.DoesNotFit | undefined => {
  const result = Plan.fits(policy, contract)
  if (Result.isSuccess(result)) return undefined
  if (result.failure._tag !== "DoesNotFit") throw result.failure
  return result.failure
}

const five = Policy.exponential("500 millis").pipe(Policy.attempts(5))
const isThrottled = (error: unknown): boolean => error === "throttled"
const isBusy = (error: unknown): boolean => error === "busy"

describe("Plan.fits", () => {
  it("succeeds with the plan", () => {
    const contract = { within: 12_500, attemptTimeout: "1 second" } as const
    expect(Result.getOrThrow(Plan.fits(five, contract))).toEqual(
      Result.getOrThrow(Plan.of(five, { attemptTimeout: "1 second" }))
    )
    expect(Result.getOrThrow(Plan.fits(contract)(five))._tag).toBe("Limited")
  })

  it("says by how much, where it breaks, and what would fit", () => {
    const error = misfit(five, { within: "5 seconds", attemptTimeout: "500 millis" })
    expect(error).toMatchObject({
      policy: "exponential(500ms) | attempts(5)",
      within: 5000,
      attemptTimeout: 500,
      worstCase: 10_000,
      over: 5000,
      breaksAtAttempt: 4,
      suggestion: { attempts: 3, cap: 666 }
    })
    expect(error?.message).toBe(
      "exponential(500ms) | attempts(5) can take 10 s with attempts of up to 500 ms, 5 s more than the 5 s allowed; " +
        "attempt 4 is the first that may end too late. attempts(3) would fit, and so would cap(666ms)."
    )
  })

  it("its suggestions fit, and one more of either does not", () => {
    const contract: Plan.Contract = { within: "5 seconds", attemptTimeout: "500 millis" }
    expect(misfit(five.pipe(Policy.attempts(3)), contract)).toBeUndefined()
    expect(misfit(five.pipe(Policy.attempts(4)), contract)).toBeDefined()
    expect(misfit(five.pipe(Policy.capped(666)), contract)).toBeUndefined()
    expect(misfit(five.pipe(Policy.capped(667)), contract)).toBeDefined()
  })

  it("counts waits alone without an attempt timeout", () => {
    expect(misfit(five, { within: 7500 })).toBeUndefined()
    expect(misfit(five, { within: 7499 })?.message).toContain("can take 7.5 s in waits alone")
  })

  it("one attempt alone may be too long", () => {
    const error = misfit(Policy.standard, { within: "1 second", attemptTimeout: "2 seconds" })
    expect(error).toMatchObject({ breaksAtAttempt: 1, suggestion: { attempts: undefined, cap: undefined } })
    expect(error?.message).toContain("One attempt alone may take longer.")
  })

  it("a policy without an end does not fit", () => {
    const policy = Policy.constant("1 second").pipe(Policy.unlimited)
    expect(misfit(policy, { within: "5 seconds" })).toMatchObject({
      worstCase: undefined,
      over: undefined,
      breaksAtAttempt: 7,
      suggestion: { attempts: 6, cap: undefined }
    })
    expect(misfit(policy, { within: "1 day" })?.breaksAtAttempt).toBeUndefined()
  })

  it("an elapsed limit makes any policy fit", () => {
    const policy = Policy.constant("1 second").pipe(Policy.jittered, Policy.within("10 seconds"))
    expect(misfit(policy, { within: "11 seconds", attemptTimeout: "1 second" })).toBeUndefined()
    expect(misfit(policy, { within: "10 seconds", attemptTimeout: "1 second" })).toMatchObject({ worstCase: 11_000 })
  })

  it("knows what an elapsed limit leaves no time for", () => {
    const policy = Policy.exponential("1 second").pipe(Policy.within("10 seconds"))
    expect(misfit(policy, { within: "7 seconds" })).toBeUndefined()
    expect(misfit(policy, { within: "6 seconds" })).toMatchObject({ worstCase: 7000, breaksAtAttempt: 4 })
  })

  it("counts the longest hint that the policy follows, unless told of another", () => {
    const policy = Policy.standard.pipe(Policy.honoringRetryAfter({ max: "3 seconds" }))
    expect(misfit(policy, { within: "5 seconds" })).toMatchObject({ hint: 3000, worstCase: 7200, breaksAtAttempt: 3 })
    expect(misfit(policy, { within: "5 seconds", hint: "1 second" })).toBeUndefined()
    expect(misfit(policy, { within: "1 second", hint: 0 })).toBeUndefined()
  })

  it("failures with hints and without may come in any order", () => {
    const http = Policy.exponential("200 millis").pipe(
      Policy.capped("5 seconds"),
      Policy.jittered,
      Policy.attempts(3),
      Policy.within("30 seconds"),
      Policy.honoringRetryAfter({ max: "60 seconds" })
    )
    expect(misfit(http, { within: 100 })).toBeDefined()
    expect(misfit(http, { within: "29 seconds", attemptTimeout: "1 second" })).toBeDefined()
    expect(misfit(http, { within: "29 seconds" })).toBeDefined()
    expect(misfit(http, { within: "30 seconds" })).toBeUndefined()
    expect(misfit(http, { within: "31 seconds", attemptTimeout: "1 second" })).toBeUndefined()
  })

  it("a hint that is too long for time or policy does not hide what comes without one", () => {
    const timed = Policy.constant("2 seconds").pipe(
      Policy.attempts(4),
      Policy.honoringRetryAfter({ max: "46 seconds" }),
      Policy.within("30 seconds")
    )
    expect(misfit(timed, { within: 500 })).toMatchObject({ breaksAtAttempt: 2 })
    const member = Policy.max([
      Policy.constant("1 second").pipe(Policy.honoringRetryAfter({ max: "46 seconds" })),
      Policy.constant("2 seconds").pipe(Policy.within("4 seconds"))
    ]).pipe(Policy.jitteredWith({ min: 0.9, max: 1 }), Policy.attempts(4))
    expect(misfit(member, { within: 500 })).toBeDefined()
    const followed = Policy.standard.pipe(Policy.honoringRetryAfter({ max: "3 seconds" }))
    // Failures that ask for up to a minute may ask for 3 s, too.
    expect(misfit(followed, { within: "5 seconds", hint: "1 minute" })).toMatchObject({ hint: 3000, worstCase: 7200 })
  })

  it("the worst case is that of the slowest run, which need not be the longest", () => {
    const policy = Policy.concat(
      Policy.immediate(3).pipe(Policy.whileInput(isBusy), Policy.within("9 seconds")),
      Policy.constant("10 seconds").pipe(Policy.attempts(2))
    ).pipe(Policy.attempts(4))
    expect(misfit(policy, { within: "5 seconds", attemptTimeout: 50 })).toMatchObject({
      worstCase: 10_100,
      over: 5100,
      breaksAtAttempt: 2
    })
  })

  it("a run of middling waits or hints may get further than one of the longest before time decides", () => {
    const hinted = Policy.min([Policy.exponential(200).pipe(Policy.attempts(3), Policy.within(4492))]).pipe(
      Policy.honoringRetryAfter({ max: 25_905 })
    )
    expect(misfit(hinted, { within: 500 })).toMatchObject({ worstCase: 4492 })
    const drawn = Policy.concat(
      Policy.none,
      Policy.linear(1310, 77).pipe(Policy.jitteredWith({ min: 0.2, max: 1.1 }), Policy.within(3877))
    )
    expect(misfit(drawn, { within: 500 })).toMatchObject({ worstCase: 3877 })
  })

  it("a timeout past all counting is still a number", () => {
    const error = misfit(Policy.standard, { within: 1000, attemptTimeout: 1.7e308 })
    expect(error?.worstCase).toBeLessThan(Infinity)
    expect(error?.message).not.toContain("Infinity")
  })

  it("takes the slowest kind of failure", () => {
    const policy = Policy.byInput(
      [["throttled", isThrottled, Policy.exponential("1 second")]],
      Policy.exponential("50 millis")
    ).pipe(Policy.attempts(4))
    expect(misfit(policy, { within: "7 seconds" })).toBeUndefined()
    expect(misfit(policy, { within: "6 seconds" })).toMatchObject({ worstCase: 7000, breaksAtAttempt: 4 })
  })

  it("mixes kinds of failure: each branch counts its own waits", () => {
    const policy = Policy.byInput(
      [["throttled", isThrottled, Policy.delays([1000, 1])]],
      Policy.delays([2000, 1])
    )
    expect(misfit(policy, { within: 2999 })).toMatchObject({ worstCase: 3002, breaksAtAttempt: 3 })
    expect(misfit(policy, { within: 3002 })).toBeUndefined()
  })

  it("an error may be one that only the slower member of an or retries", () => {
    const policy = Policy.min([
      Policy.constant("1 second").pipe(Policy.whileInput(isBusy)),
      Policy.constant("10 seconds").pipe(Policy.whileInput(isThrottled))
    ]).pipe(Policy.attempts(2))
    expect(misfit(policy, { within: "9 seconds" })).toMatchObject({ worstCase: 10_000 })
  })

  it("time that chooses the next policy may do so early", () => {
    const policy = Policy.concat(
      Policy.constant("1 second").pipe(Policy.within("5 seconds")),
      Policy.delays(["1 minute"])
    )
    // At 5 s, attempts taking no time: five fast retries and the slow one.
    expect(misfit(policy, { within: "65 seconds" })).toBeUndefined()
    expect(misfit(policy, { within: "64 seconds" })).toBeDefined()
  })

  it("more than 10,000 attempts are too many to judge", () => {
    const result = Plan.fits(Policy.constant(1).pipe(Policy.attempts(20_000)), { within: "1 second" })
    expect(Result.isFailure(result) && result.failure._tag).toBe("PlanTooLarge")
  })

  it.each<[contract: Plan.Contract, argument: string]>([
    [{ within: 0 }, "fits.within"],
    [{ within: 1, attemptTimeout: 0 }, "fits.attemptTimeout"],
    [{ within: 1, hint: -1 }, "fits.hint"]
  ])("a bad contract is a typed error: %o", (contract, argument) => {
    const result = Plan.fits(Policy.standard, contract)
    expect(Result.isFailure(result) && result.failure).toMatchObject({ _tag: "InvalidPolicy", argument })
  })
})

describe("Policy.contract", () => {
  it("gives back the same policy when it fits", () => {
    expect(five.pipe(Policy.contract({ within: "8 seconds" }))).toBe(five)
    expect(Policy.contract(five, { within: "8 seconds" })).toBe(five)
  })

  it("throws where the policy is built when it does not", () => {
    let error: unknown
    try {
      Policy.contract(five, { within: "5 seconds", attemptTimeout: "500 millis" })
    } catch (thrown) {
      error = thrown
    }
    expect(InvalidPolicy.is(error)).toBe(true)
    expect(String(error)).toBe(
      "InvalidPolicy: The worst case of exponential(500ms) | attempts(5) must be at most 5 s " +
        "(attempts(3) would fit, and so would cap(666ms)), got \"10 s\""
    )
  })

  it("refuses what has no end, and bad terms", () => {
    expect(() => Policy.contract(Policy.constant(1).pipe(Policy.unlimited), { within: 10 })).toThrow("got \"no end\"")
    expect(() => Policy.contract(five, { within: NaN })).toThrow("contract.within must be a finite duration")
  })

  it("refuses what it cannot judge", () => {
    expect(() => Policy.contract(Policy.constant(1).pipe(Policy.attempts(20_000)), { within: 10 })).toThrow(
      "10,000 attempts"
    )
  })
})

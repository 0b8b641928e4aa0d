// The published budgets, held against scripted sequences whose answers come from their own sources.
import { describe, expect, it } from "@effect/vitest"
import { RetryBudget } from "@reprise/core"
import budgets from "../../fixtures/budgets.json" with { type: "json" }
import { failure, grantedOf, type Meter, meterOf, take, type Withdrawal } from "./meter.ts"

const many = (times: number, f: () => void): void => {
  for (let i = 0; i < times; i++) f()
}

describe("ratio, as Finagle's", () => {
  it.each(budgets.windowed.sequences.map((_) => [_.name, _] as const))("%s", (_, { config, events }) => {
    const { minPerSecond, ratio, ttlMs } = config
    const meter = meterOf(RetryBudget.ratio({ ratio, minPerSecond, window: ttlMs }))
    for (const { finagle, op, t, times = 1 } of events) {
      const granted = op === "withdraw" ? grantedOf(meter, t, times) : undefined
      if (op === "deposit") many(times, () => meter.request(t))
      expect({ t, granted, left: meter.balance(t) }).toEqual({ t, granted: finagle.allowed, left: finagle.retriesLeft })
    }
  })

  it.each(budgets.windowed.towerEffectiveRatio)(
    "gives $finagleEffective of 10,000 requests for a ratio of $ratio, and not $effective as tower's",
    ({ finagleWithdraw, ratio }) => {
      const meter = meterOf(RetryBudget.ratio({ ratio, minPerSecond: 0, maxWaiting: 40_000 }))
      many(10_000, () => meter.request(0))
      expect(grantedOf(meter, 0, 40_000)).toBe(Math.floor(10_000 * 1000 / finagleWithdraw))
    }
  )

  it("has nothing to catch up with after a long time", () => {
    const meter = meterOf(RetryBudget.ratio())
    grantedOf(meter, 0, 100)
    expect(meter.balance(1e12)).toBe(100)
  })
})

describe("throttle, as gRPC's", () => {
  it.each(budgets.grpc.sequences.map((_) => [_.name, _] as const))("%s", (_, { config, events }) => {
    const meter = meterOf(RetryBudget.throttle(config))
    for (const { op, retryAllowed, times, tokensAfter } of events) {
      const allowed: Array<boolean> = []
      many(times, () => {
        if (op === "success") return meter.success?.(0, undefined)
        // A status that is not worth a retry asks for none, and pushback counts all the same.
        if (op !== "failureNonRetryable") meter.failure?.(0)
        allowed.push(op === "failure" && take(meter, 0) !== undefined)
      })
      const expected = op === "success" ? [] : [retryAllowed].flat()
      // The balance is what is above the half, less what the next failure takes.
      expect({ op, allowed, balance: meter.balance(0) }).toEqual({
        op,
        allowed: expected,
        balance: expect.closeTo(tokensAfter - config.maxTokens / 2 - 1, 9)
      })
    }
  })

  it.each([[0.5709, 0.57], [1.001, 1.001], [0.57, 0.57]])(
    "reads three decimals, whatever binary makes of %s",
    (tokenRatio, gain) => {
      const meter = meterOf(RetryBudget.throttle({ tokenRatio }))
      many(4, () => meter.failure?.(0))
      meter.success?.(0, undefined)
      expect(meter.balance(0)).toBe(gain)
    }
  )

  it("gives nothing back for a retry that never started", () => {
    const meter = meterOf(RetryBudget.throttle())
    meter.failure?.(0)
    const withdrawal = take(meter, 0)!
    const before = meter.balance(0)
    meter.refund(0, withdrawal)
    expect(meter.balance(0)).toBe(before)
  })
})

describe("quota, as botocore's", () => {
  const costly = (cost: number) => ({ error: { cost }, timedOut: false })
  const cost = (error: unknown): number =>
    // The errors of these tests have one.
    (error as { readonly cost: number }).cost

  it.each(budgets.aws.sequences.map((_) => [_.name, _] as const))("%s", (_, { events }) => {
    const meter = meterOf(RetryBudget.quota({ cost, retryCost: 1 }))
    const last = new Map<string, Withdrawal>()
    for (const event of events) {
      let allowed = 0
      many(event.times, () => {
        if (event.op === "success") meter.success?.(0, last.get(event.call))
        if (event.op !== "retry") return
        const taken = meter.withdraw(0, costly(event.cost!))
        if (taken === undefined) return
        allowed++
        meter.start(0, taken)
        last.set(event.call, taken)
      })
      // A call that has ended is another one when it comes again.
      if (event.op !== "retry") last.delete(event.call)
      expect({ event, allowed, capacity: meter.balance(0) }).toEqual({
        event,
        allowed: event.allowed ?? 0,
        capacity: event.capacityAfter
      })
    }
  })

  const timeout = { name: "TimeoutError" }
  it.each([
    ["the run's own timeout", { error: "any", timedOut: true }, 490],
    ["that of AbortSignal.timeout", { error: timeout, timedOut: false }, 490],
    ["a code", { error: { code: "ETIMEDOUT" }, timedOut: false }, 490],
    ["a code of the cause", { error: { cause: { code: "UND_ERR_HEADERS_TIMEOUT" } }, timedOut: false }, 490],
    ["a code of the old request library", { error: { code: "ESOCKETTIMEDOUT" }, timedOut: false }, 490],
    ["another code", { error: { code: "ECONNRESET" }, timedOut: false }, 495],
    ["no error at all", { error: undefined, timedOut: false }, 495]
  ])("%s", (_, failed, left) => {
    const meter = meterOf(RetryBudget.quota())
    meter.withdraw(0, failed)
    expect(meter.balance(0) * 5).toBe(left)
  })

  it.each([
    ["throws", () => {
      throw new Error("not known")
    }],
    ["returns none", () => Number.NaN],
    ["returns less than nothing", () => -1]
  ])("takes what others do where the cost of an error %s", (_, cost) => {
    const meter = meterOf(RetryBudget.quota({ cost }))
    meter.withdraw(0, failure)
    expect(meter.balance(0) * 5).toBe(495)
  })

  it.each([[0, 500], [2.1, 497], [Infinity, 500]])("a cost of %s leaves %s", (cost, left) => {
    const meter = meterOf(RetryBudget.quota({ cost: () => cost, retryCost: 1 }))
    expect([take(meter, 0) === undefined, meter.balance(0)]).toEqual([cost === Infinity, left])
  })

  it("gives back in full what a retry took that never started, once", () => {
    const meter = meterOf(RetryBudget.quota())
    const withdrawal = take(meter, 0)!
    meter.refund(0, withdrawal)
    take(meter, 0)
    meter.refund(0, withdrawal)
    expect(meter.balance(0)).toBe(99)
  })
})

describe("concurrent, as Envoy's", () => {
  const settle = (meter: Meter, withdrawal: Withdrawal): void => {
    meter.start(0, withdrawal)
    meter.settle?.(withdrawal)
  }

  it.each(budgets.envoy.sequences.map((_) => [_.name, _] as const))("%s", (_, { config, events }) => {
    const meter = meterOf(
      RetryBudget.concurrent({ percent: config.budgetPercent, minimum: config.minRetryConcurrency })
    )
    const held: Array<Withdrawal> = []
    let active = 0
    for (const event of events) {
      if (event.op === "active") {
        for (; active < event.value!; active++) meter.enter?.()
        for (; active > event.value!; active--) meter.exit?.()
      }
      let allowed = 0
      many(event.times ?? 0, () => {
        if (event.op === "retryEnds") return settle(meter, held.pop()!)
        const withdrawal = take(meter, 0)
        if (withdrawal === undefined) return
        allowed++
        held.push(withdrawal)
      })
      expect({ event, allowed, held: held.length, free: meter.balance(0) }).toEqual({
        event,
        allowed: event.allowed ?? 0,
        held: event.retriesInFlight,
        free: event.limit - event.retriesInFlight
      })
    }
  })

  it("gives a slot back once, whether the retry ended or never started", () => {
    const meter = meterOf(RetryBudget.concurrent())
    const ended = take(meter, 0)!
    const never = take(meter, 0)!
    settle(meter, ended)
    meter.settle?.(ended)
    meter.refund(0, ended)
    expect(meter.balance(0)).toBe(2)
    meter.refund(0, never)
    meter.refund(0, never)
    meter.settle?.(never)
    expect(meter.balance(0)).toBe(3)
  })
})

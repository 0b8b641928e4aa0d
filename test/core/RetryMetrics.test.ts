import { describe, expect, it } from "@effect/vitest"
import * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as RetryMetrics from "@reprise/core/RetryMetrics"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import { TestClock } from "effect/testing"
import * as events from "../observability/events.ts"
import { tell } from "../observability/observing.ts"

/** With a registry of its own. */
const fresh = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.provideService(self, Metric.MetricRegistry, new Map())

/** The number of each series: the count of a counter or a histogram, the value of a gauge. */
const values = Effect.map(Metric.snapshot, (snapshots) => {
  const found: Record<string, number> = {}
  for (const { attributes = {}, id, state, type } of snapshots) {
    const labels = Object.entries(attributes).filter(([key]) => key !== "unit").map(([key, value]) => `${key}=${value}`)
    found[`${id}{${labels.join(",")}}`] = Number(type === "Gauge" ? state.value : "count" in state ? state.count : 0)
  }
  return found
})

const attempts = (operation: string, type: string) =>
  `reprise.client.attempts{reprise.operation=${operation},reprise.attempt.type=${type}}`

describe("RetryMetrics", () => {
  it.effect("counts attempts by operation and type, from zero", () =>
    fresh(Effect.gen(function* () {
      const observer = yield* RetryMetrics.observer
      observer.started?.("charge")
      observer.started?.("charge")
      observer.retried?.("charge")
      observer.started?.(undefined)
      expect(yield* values).toEqual({
        [attempts("charge", "original")]: 2,
        [attempts("charge", "retry")]: 1,
        [attempts("_UNNAMED", "original")]: 1,
        [attempts("_UNNAMED", "retry")]: 0
      })
    })))

  it.effect("counts what events tell", () =>
    fresh(Effect.gen(function* () {
      const observer = yield* RetryMetrics.observer
      yield* tell(
        observer,
        events.scheduled("charge", { delay: 250 }),
        events.scheduled("charge", { delay: 1750 }),
        events.exhausted("charge"),
        events.exhausted("charge", { reason: "Budget" }),
        events.exhausted("charge", { reason: "Budget" }),
        events.denied("charge"),
        events.terminal("charge", new Cause.TimeoutError()),
        events.terminal("charge", new Cause.TimeoutError(), { unclassified: false }),
        events.succeeded("charge"),
        events.interrupted("charge")
      )
      const { "reprise.retry.delay{reprise.operation=charge}": delays, ...others } = yield* values
      expect(delays).toBe(2)
      expect(others).toEqual({
        [attempts("charge", "original")]: 0,
        [attempts("charge", "retry")]: 0,
        "reprise.run.exhausted{reprise.operation=charge,reprise.reason=Attempts}": 1,
        "reprise.run.exhausted{reprise.operation=charge,reprise.reason=Budget}": 2,
        "reprise.budget.denied{reprise.operation=charge}": 1,
        "reprise.error.unclassified{error.type=TimeoutError}": 1
      })
    })))

  it.effect("measures waits in seconds", () =>
    fresh(Effect.gen(function* () {
      yield* tell(
        yield* RetryMetrics.observer,
        events.scheduled("a", { delay: 250 }),
        events.scheduled("a", { delay: 1750 })
      )
      const delay = (yield* Metric.snapshot).find((_) => _.id === "reprise.retry.delay")
      expect(delay?.attributes).toEqual({ "reprise.operation": "a", unit: "s" })
      expect(delay?.state).toMatchObject({ sum: 2, min: 0.25, max: 1.75 })
    })))

  it.effect("shows the runs that wait now", () =>
    fresh(Effect.gen(function* () {
      const { waiting } = yield* RetryMetrics.observer
      for (const change of [1, 1, -1] as const) waiting?.("charge", change)
      expect(yield* values).toMatchObject({ "reprise.run.waiting{reprise.operation=charge}": 1 })
    })))

  it.effect("shows a run that waits, until its wait is over or it is interrupted", () =>
    Effect.gen(function* () {
      const run = Effect.fail("busy").pipe(Retry.run(Policy.recurs(Policy.constant("1 second"), 1), { name: "charge" }))
      const waiting = Effect.map(values, (_) => _["reprise.run.waiting{reprise.operation=charge}"])
      const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(Effect.exit(run)))
      yield* Effect.yieldNow
      expect(yield* waiting).toBe(3)
      yield* Fiber.interrupt(fibers[0]!)
      expect(yield* waiting).toBe(2)
      yield* TestClock.adjust("1 second")
      expect(yield* waiting).toBe(0)
    }).pipe(Effect.provide(RetryMetrics.layer), fresh))

  it.effect("names at most 200 operations, and none that was _OTHER once changes", () =>
    fresh(Effect.gen(function* () {
      const observer = yield* RetryMetrics.observer
      for (let i = 0; i < 300; i++) {
        observer.started?.(`operation ${i}`)
        observer.waiting?.(`operation ${i}`, 1)
      }
      for (let i = 0; i < 300; i++) observer.waiting?.(`operation ${i}`, -1)
      const found = yield* values
      expect(Object.keys(found)).toHaveLength(201 * 3)
      expect(found[attempts("operation 199", "original")]).toBe(1)
      expect(found[attempts("_OTHER", "original")]).toBe(100)
      expect(Object.entries(found).filter(([key, value]) => key.includes("waiting") && value !== 0)).toEqual([])
    })))

  it.effect("names no operation that is longer than 256 characters", () =>
    fresh(Effect.gen(function* () {
      const { started } = yield* RetryMetrics.observer
      started?.("x".repeat(257))
      expect(Object.keys(yield* values)).toContain(attempts("_OTHER", "original"))
    })))

  it.effect("names at most 100 types of error, and never what an error says", () =>
    fresh(Effect.gen(function* () {
      const observer = yield* RetryMetrics.observer
      class Named extends Error {}
      const errors = [
        new Cause.TimeoutError("secret"),
        new Named("secret"),
        new Error("secret"),
        Object.assign(new Error("secret"), { code: "ECONNREFUSED" }),
        Object.assign(new Error("secret"), { code: "no code, but a secret" }),
        Object.assign(new Error("secret"), { name: "a name that holds a secret" }),
        { _tag: "Busy" },
        { status: 503 },
        "secret",
        null,
        new Proxy({}, {
          get: () => {
            throw new Error("secret")
          }
        })
      ]
      yield* tell(observer, ...errors.map((error) => events.terminal("a", error)))
      const types = Object.keys(yield* values).map((key) => /error\.type=(.*)}/.exec(key)?.[1])
      expect(types).toEqual([
        "TimeoutError",
        "Named",
        "Error",
        "ECONNREFUSED",
        "_OTHER",
        "Busy",
        "Object",
        "string",
        "null"
      ])
      const class_ = (n: number) => new (Data.TaggedError(`Kind${n}`)<{}>)()
      yield* tell(observer, ...Array.from({ length: 200 }, (_, n) => events.terminal("a", class_(n))))
      expect(Object.keys(yield* values)).toHaveLength(101)
    })))

  it.effect("counts together with another observer of the registry, as any two metrics of a name do", () =>
    fresh(Effect.gen(function* () {
      const [a, b] = [yield* RetryMetrics.observer, yield* Effect.scoped(RetryMetrics.observer)]
      a.started?.("charge")
      b.started?.("charge")
      expect(yield* values).toMatchObject({ [attempts("charge", "original")]: 2 })
    })))

  it.effect("has the attributes of the context", () =>
    fresh(Effect.gen(function* () {
      const observer = yield* RetryMetrics.observer
      observer.started?.("charge")
      expect(Object.keys(yield* values)[0]).toContain("shop=berlin")
    })).pipe(Effect.provideService(Metric.CurrentMetricAttributes, { shop: "berlin" })))

  it.effect("asks for no event of a run that succeeds at once", () =>
    Effect.gen(function* () {
      expect((yield* RetryMetrics.observer).wantsFirstSuccess()).toBe(false)
    }))
})

describe("RetryMetrics.budget", () => {
  const utilization = Effect.map(values, (_) => _["reprise.budget.utilization{reprise.budget=shop}"])

  /** A failed attempt costs a token of these and nothing else does, so that a balance can be set. */
  const spend = (budget: RetryBudget.RetryBudget, failures: number) =>
    Effect.fail("busy").pipe(
      Retry.run(Policy.attempts(Policy.immediate(1), 1), { budget }),
      Effect.ignore,
      Effect.repeat({ times: failures - 1 })
    )

  it.effect("shows 1 less the share of the highest balance that is left, until the scope closes", () =>
    fresh(Effect.gen(function* () {
      // Tokens above the half, less one: 499.
      const budget = RetryBudget.throttle({ maxTokens: 1000 })
      const reads: Array<number | undefined> = []
      yield* Effect.scoped(Effect.gen(function* () {
        yield* RetryMetrics.budget("shop", budget)
        reads.push(yield* utilization)
        for (const failures of [99, 300, 100]) {
          yield* spend(budget, failures)
          reads.push(yield* utilization)
        }
      }))
      expect(reads.map((_) => _?.toFixed(3))).toEqual(["0.000", "0.198", "0.800", "1.000"])
      expect(yield* utilization).toBe(undefined)
    })))

  it.effect("forgets half of the highest balance in ten minutes", () =>
    fresh(Effect.scoped(Effect.gen(function* () {
      const budget = RetryBudget.throttle({ maxTokens: 1000 })
      yield* RetryMetrics.budget("shop", budget)
      yield* utilization
      yield* spend(budget, 399)
      yield* TestClock.adjust("10 minutes")
      expect(yield* utilization).toBeCloseTo(1 - 100 / 249.5)
      yield* TestClock.adjust("1 hour")
      expect(yield* utilization).toBe(0)
    }))))

  it.effect("is 0 for a budget without a limit", () =>
    fresh(Effect.scoped(Effect.gen(function* () {
      let key = "unlimited"
      const budget = RetryBudget.keyed(
        (key) => key === "unlimited" ? RetryBudget.unlimited : RetryBudget.throttle(),
        () => key
      )
      yield* RetryMetrics.budget("shop", budget)
      expect(yield* utilization).toBe(0)
      key = "limited"
      expect(yield* utilization).toBe(0)
    }))))

  it.effect("shows no reading that fails", () =>
    fresh(Effect.scoped(Effect.gen(function* () {
      const broken = RetryBudget.keyed(() => RetryBudget.make(), () => {
        throw new Error("no key")
      })
      yield* RetryMetrics.budget("shop", broken)
      expect(yield* utilization).toBe(0)
    }))))
})

describe("RetryMetrics.prometheusName", () => {
  it("says what the number is, and leaves other metrics alone", () => {
    const names = [
      "reprise.client.attempts",
      "reprise.retry.delay",
      "reprise.budget.utilization",
      "reprise.run.waiting"
    ]
    expect([...names, "http.requests", "constructor"].map(RetryMetrics.prometheusName)).toEqual([
      "reprise_client_attempts_total",
      "reprise_retry_delay_seconds",
      "reprise_budget_utilization_ratio",
      "reprise_run_waiting",
      "http.requests",
      "constructor"
    ])
  })
})

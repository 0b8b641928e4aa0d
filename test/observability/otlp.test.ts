import { describe, expect, it } from "@effect/vitest"
import * as RetryLog from "@reprise/core/RetryLog"
import * as RetryMetrics from "@reprise/core/RetryMetrics"
import * as RetrySpans from "@reprise/core/RetrySpans"
import * as Effect from "effect/Effect"
import { FetchHttpClient } from "effect/http"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { Otlp } from "effect/observability"
import * as collector from "./collector.ts"
import { secret, storm } from "./storm.ts"

/** The exporter sends what it has when its layer goes: what the collector has then. */
const exported = Effect.gen(function* () {
  const collected = yield* collector.start
  const otlp = Otlp.layerJson({
    baseUrl: collected.url,
    resource: { serviceName: "shop" },
    loggerMergeWithExisting: false
  })
  yield* Effect.scoped(storm).pipe(
    Effect.provide(Layer.mergeAll(
      RetryMetrics.layer,
      RetryLog.layer,
      RetrySpans.layer,
      otlp.pipe(Layer.provide(FetchHttpClient.layer))
    )),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
  return collected
})

describe("OTLP", () => {
  it.live("metrics of real runs reach a collector, with their units", () =>
    Effect.gen(function* () {
      const metrics = (yield* exported).metrics()
      const units = Object.fromEntries(metrics.map((_) => [_.name, _.unit]))
      expect(units).toMatchObject({
        "reprise.client.attempts": "{attempt}",
        "reprise.run.exhausted": "{run}",
        "reprise.run.waiting": "{run}",
        "reprise.retry.delay": "s",
        "reprise.budget.denied": "{retry}",
        "reprise.error.unclassified": "{error}"
      })
      const attempts = metrics.find((_) => _.name === "reprise.client.attempts")?.sum
      expect(attempts?.isMonotonic).toBe(true)
      const points = (attempts?.dataPoints ?? []).map(({ asDouble, attributes }) => {
        const { "reprise.attempt.type": type, "reprise.operation": operation } = collector.record(attributes)
        return [operation, type, asDouble]
      })
      expect(points).toContainEqual(["refund", "original", 1])
      expect(points).toContainEqual(["refund", "retry", 2])
      const delays = metrics.find((_) => _.name === "reprise.retry.delay")?.histogram?.dataPoints[0]
      expect([delays?.count, delays?.sum]).toEqual([2, 0.004])
    }).pipe(Effect.scoped))

  it.live("spans of real runs reach a collector, with what became of the runs", () =>
    Effect.gen(function* () {
      const spans = (yield* exported).spans()
      const refund = spans.find((_) => _.name === "refund")
      expect(collector.record(refund?.attributes ?? [])).toMatchObject({
        "reprise.attempts": 3,
        "reprise.reason": "Attempts"
      })
      const retries = (refund?.events ?? []).filter((_) => _.name === "retry").map((_) =>
        collector.record(_.attributes)
      )
      expect(retries).toEqual([1, 2].map((attempt) => ({
        "reprise.attempt": attempt,
        "reprise.retry.delay": 0.002,
        "error.type": "Unavailable"
      })))
      const [once, thrice] = spans.filter((_) => _.name === "charge").map((_) => collector.record(_.attributes))
      expect(once).not.toHaveProperty("reprise.attempts")
      expect(thrice).toMatchObject({ "reprise.attempts": 3 })
    }).pipe(Effect.scoped))

  it.live("what an error says is in no metric, and in no log line of ours", () =>
    Effect.gen(function* () {
      const lines = (yield* exported).text().split("\n").filter((_) => !_.includes("resourceSpans"))
      expect(lines.join()).toContain("A run gave up")
      expect(lines.join()).not.toContain(secret)
    }).pipe(Effect.scoped))
})

import { NodeHttpServer } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as RetryMetrics from "@reprise/core/RetryMetrics"
import * as Effect from "effect/Effect"
import { HttpRouter, HttpServer } from "effect/http"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { PrometheusMetrics } from "effect/observability"
import { createServer } from "node:http"
import * as prometheusText from "./prometheusText.ts"
import { secret, storm } from "./storm.ts"

const fresh = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.provideService(self, Metric.MetricRegistry, new Map())

const options = { metricNameMapper: RetryMetrics.prometheusName }

describe("Prometheus", () => {
  it.live("has the numbers of real runs", () =>
    Effect.gen(function* () {
      yield* storm
      const text = yield* PrometheusMetrics.format(options)
      const samples = prometheusText.parse(text)
      const value = (name: string, labels: Record<string, string>) => prometheusText.value(samples, name, labels)
      const attempts = (operation: string, type: string) =>
        value("reprise_client_attempts_total", { reprise_operation: operation, reprise_attempt_type: type })
      expect(["charge", "refund", "ship", "notify"].map((_) => [_, attempts(_, "original"), attempts(_, "retry")]))
        .toEqual([
          ["charge", 2, 2],
          ["refund", 1, 2],
          ["ship", 1, 0],
          ["notify", 1, 0]
        ])
      expect(value("reprise_run_exhausted_total", { reprise_operation: "refund", reprise_reason: "Attempts" })).toBe(1)
      expect(value("reprise_run_exhausted_total", { reprise_operation: "ship", reprise_reason: "Budget" })).toBe(1)
      expect(value("reprise_budget_denied_total", { reprise_operation: "ship" })).toBe(1)
      expect(value("reprise_run_waiting", { reprise_operation: "charge" })).toBe(0)
      expect(value("reprise_retry_delay_seconds_count", { reprise_operation: "charge" })).toBe(2)
      expect(value("reprise_retry_delay_seconds_sum", { reprise_operation: "charge" })).toBe(0.004)
      expect(value("reprise_retry_delay_seconds_bucket", { reprise_operation: "charge", le: "0.005" })).toBe(2)
      expect(value("reprise_error_unclassified_total", { error_type: "Odd" })).toBe(1)
      expect(value("reprise_budget_utilization_ratio", { reprise_budget: "payments" })).toBe(1)
      expect(text).not.toContain(secret)
    }).pipe(Effect.provide(RetryMetrics.layer), Effect.scoped, fresh))

  it.live("is served over HTTP", () =>
    Effect.gen(function* () {
      yield* storm
      const { address } = yield* HttpServer.HttpServer
      const response = yield* Effect.promise(() =>
        fetch(`http://127.0.0.1:${"port" in address ? address.port : 0}/metrics`)
      )
      const samples = prometheusText.parse(yield* Effect.promise(() => response.text()))
      expect(response.headers.get("content-type")).toContain("text/plain; version=0.0.4")
      expect(prometheusText.value(samples, "reprise_budget_denied_total")).toBe(1)
    }).pipe(
      Effect.provide(
        HttpRouter.serve(PrometheusMetrics.layerHttp(options), { disableLogger: true, disableListenLog: true }).pipe(
          Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })),
          Layer.merge(RetryMetrics.layer)
        )
      ),
      Effect.scoped,
      fresh
    ))
})

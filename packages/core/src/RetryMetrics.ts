/**
 * Counts what happens in runs, with Effect's `Metric`: for its Prometheus and OTLP exporters, or any other.
 *
 * | metric                       | kind      | unit        | attributes                                  |
 * | ---------------------------- | --------- | ----------- | ------------------------------------------- |
 * | `reprise.client.attempts`    | counter   | `{attempt}` | `reprise.operation`, `reprise.attempt.type` |
 * | `reprise.run.exhausted`      | counter   | `{run}`     | `reprise.operation`, `reprise.reason`       |
 * | `reprise.run.waiting`        | gauge     | `{run}`     | `reprise.operation`                         |
 * | `reprise.retry.delay`        | histogram | `s`         | `reprise.operation`                         |
 * | `reprise.budget.denied`      | counter   | `{retry}`   | `reprise.operation`                         |
 * | `reprise.budget.utilization` | gauge     | `1`         | `reprise.budget`                            |
 * | `reprise.error.unclassified` | counter   | `{error}`   | `error.type`                                |
 * | `reprise.redis.fallback`     | counter   | `{decision}`| `reprise.budget`                            |
 *
 * - `reprise.attempt.type` is `original` for the first attempt of a run and `retry` for those after it
 * - `reprise.operation` is the name of the run, `_UNNAMED` where it has none, and `_OTHER` past 200 names
 * - `reprise.reason` is the tag of the reason of a `RetryExhausted`
 * - `error.type` is the tag of the error, or else its name, its class or its code; `_OTHER` past 100 of them, and where
 *   a name looks like none of a class, as it may be data
 *
 * Nothing else becomes an attribute: no key, no address, no tenant, no message.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { constVoid } from "effect/Function"
import type * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import * as metricNames from "./internal/observe/metricNames.ts"
import { make } from "./internal/observe/metrics.ts"
import * as names from "./internal/observe/names.ts"
import { reading } from "./internal/observe/utilization.ts"
import type * as RetryBudget from "./RetryBudget.ts"
import * as RetryEvents from "./RetryEvents.ts"

/**
 * The observer that counts, in the `MetricRegistry` and with the `CurrentMetricAttributes` of the context in which it is
 * made, not of the run: a run that starts costs a look-up by its name and an addition. Several of them count together.
 * The series stay in the registry, as those of any metric do.
 *
 * @category observers
 */
export const observer: Effect.Effect<RetryEvents.Observer> = /* @__PURE__ */ Effect.map(
  /* @__PURE__ */ Effect.context<never>(),
  make
)

/**
 * A layer with {@link observer} for all runs in its context.
 *
 * ```ts
 * import { Policy, Retry, RetryMetrics } from "@reprise/core"
 * import { Effect } from "effect"
 * import { PrometheusMetrics } from "effect/observability"
 *
 * const program = Effect.gen(function*() {
 *   yield* Effect.fail("busy").pipe(Retry.run(Policy.immediate(2), { name: "reserve" }), Effect.ignore)
 *   return yield* PrometheusMetrics.format({ metricNameMapper: RetryMetrics.prometheusName })
 * })
 *
 * const text = await Effect.runPromise(Effect.provide(program, RetryMetrics.layer))
 * for (const line of text.split("\n")) if (line.startsWith("reprise_client")) console.log(line)
 * // => reprise_client_attempts_total{reprise_operation="reserve",reprise_attempt_type="original"} 1
 * // => reprise_client_attempts_total{reprise_operation="reserve",reprise_attempt_type="retry"} 2
 * ```
 *
 * @category layers
 */
export const layer: Layer.Layer<never> = /* @__PURE__ */ RetryEvents.layer([observer])

/**
 * Shows the utilization of a budget as `reprise.budget.utilization`, under a name for people, until the scope closes.
 * The balance is read whenever the metrics are, and at no other time; of a keyed budget give `budget.at(key)`.
 *
 * 0 is a budget as full as it has been of late, 1 one that does not pay for a retry: its balance is below 1. Between
 * them it is `1 - balance / highest`, with the highest balance that a reading saw, of which half is forgotten in ten
 * minutes. So it also rises when traffic falls, as most budgets then hold less: look at it together with the retries.
 * 0 for a budget without a limit.
 *
 * ```ts
 * import { RetryBudget, RetryMetrics } from "@reprise/core"
 * import { Effect, Metric } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   yield* RetryMetrics.budget("payments", RetryBudget.make({ initial: 5 }))
 *   return (yield* Metric.snapshot).find((metric) => metric.id === "reprise.budget.utilization")?.state
 * })
 *
 * console.log(await Effect.runPromise(Effect.scoped(program))) // => { value: 0 }
 * ```
 *
 * @category budgets
 */
export const budget = (
  name: string,
  self: RetryBudget.RetryBudget
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const read = reading(self, context)
    return Effect.asVoid(Effect.acquireRelease(
      Effect.sync(() =>
        Metric.registerUnsafe(metricNames.utilization({ [names.budget]: name }), context, {
          get: () => ({ value: read() }),
          update: constVoid,
          modify: constVoid
        })
      ),
      (registration) => Effect.sync(registration.remove)
    ))
  })

/**
 * What Prometheus calls a metric, for `metricNameMapper` of Effect's exporter: underscores, and an ending that says what
 * the number is, as the OpenTelemetry Collector names them too. So the same dashboard reads both. A metric that is not
 * of this library keeps its name.
 *
 * ```ts
 * import { RetryMetrics } from "@reprise/core"
 *
 * console.log(RetryMetrics.prometheusName("reprise.client.attempts")) // => reprise_client_attempts_total
 * console.log(RetryMetrics.prometheusName("reprise.retry.delay")) // => reprise_retry_delay_seconds
 * ```
 *
 * @category exporting
 */
export const prometheusName: (name: string) => string = metricNames.prometheusName

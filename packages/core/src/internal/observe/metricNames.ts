/**
 * The metrics: what they are called and what they count. A series of one is made with its attributes, `unit` among
 * them, from which Effect's OTLP exporter takes the unit (and which its Prometheus exporter leaves out).
 */
import * as Metric from "effect/Metric"
import * as names from "./names.ts"

type Attributes = Readonly<Record<string, string>>

/** The waits that people configure, from milliseconds to minutes. In seconds. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const counterOf = (id: string, unit: string, description: string) => (attributes: Attributes): Metric.Counter<number> =>
  Metric.counter(id, { description, incremental: true, attributes: { ...attributes, unit } })

const gaugeOf = (id: string, unit: string, description: string) => (attributes: Attributes): Metric.Gauge<number> =>
  Metric.gauge(id, { description, attributes: { ...attributes, unit } })

type MakeCounter = (attributes: Attributes) => Metric.Counter<number>
type MakeGauge = (attributes: Attributes) => Metric.Gauge<number>

export const attempts: MakeCounter = /* @__PURE__ */ counterOf(
  "reprise.client.attempts",
  "{attempt}",
  "Attempts that started, the first of each run (original) and those after it (retry)"
)

export const exhausted: MakeCounter = /* @__PURE__ */ counterOf(
  "reprise.run.exhausted",
  "{run}",
  "Runs that gave up on an error that was worth a retry"
)

export const waiting: MakeGauge = /* @__PURE__ */ gaugeOf("reprise.run.waiting", "{run}", "Runs that wait for a retry")

export const delay = (attributes: Attributes): Metric.Histogram<number> =>
  Metric.histogram("reprise.retry.delay", {
    description: "Waits that began before a retry",
    boundaries,
    attributes: { ...attributes, unit: "s" }
  })

export const denied: MakeCounter = /* @__PURE__ */ counterOf(
  "reprise.budget.denied",
  "{retry}",
  "Retries that the client's retry budget refused"
)

export const unclassified: MakeCounter = /* @__PURE__ */ counterOf(
  "reprise.error.unclassified",
  "{error}",
  "Runs that ended with an error that nothing classified"
)

export const utilization: MakeGauge = /* @__PURE__ */ gaugeOf(
  "reprise.budget.utilization",
  "1",
  "Share of the retry budget that is used up, from 0 to 1"
)

/** Counted by the shared budget itself, by the name of the budget. */
export const redisFallback = (budget: string): Metric.Counter<number> => fallbacks({ [names.budget]: budget })

const fallbacks: MakeCounter = /* @__PURE__ */ counterOf(
  "reprise.redis.fallback",
  "{decision}",
  "Decisions of a shared budget that were made in the process, because Redis did not answer"
)

/**
 * What Prometheus calls them: the ending says what the number is. It is also what the OpenTelemetry Collector makes of
 * them, from their kinds and units.
 */
const suffixes: Readonly<Record<string, string>> = {
  "reprise.client.attempts": "_total",
  "reprise.run.exhausted": "_total",
  "reprise.run.waiting": "",
  "reprise.retry.delay": "_seconds",
  "reprise.budget.denied": "_total",
  "reprise.error.unclassified": "_total",
  "reprise.budget.utilization": "_ratio",
  "reprise.redis.fallback": "_total"
}

/** The name of a metric for Prometheus; one that is not ours keeps its own. */
export const prometheusName = (name: string): string => {
  const suffix = Object.hasOwn(suffixes, name) ? suffixes[name] : undefined
  return suffix === undefined ? name : `${name.replaceAll(".", "_")}${suffix}`
}

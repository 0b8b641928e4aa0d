/**
 * The metrics: what they are called and what they count. A series of one is made with its attributes, `unit` among
 * them, from which Effect's OTLP exporter takes the unit (and which its Prometheus exporter leaves out).
 */
import * as Metric from "effect/Metric"
import * as names from "./names.ts"

type Attributes = Readonly<Record<string, string>>

// Each for itself, so that a program keeps those of the metrics that it has.
const attemptsId = "reprise.client.attempts"
const exhaustedId = "reprise.run.exhausted"
const waitingId = "reprise.run.waiting"
/** Also the attribute of one wait. */
const delayId = names.delay
const deniedId = "reprise.budget.denied"
const unclassifiedId = "reprise.error.unclassified"
const utilizationId = "reprise.budget.utilization"
const fallbacksId = "reprise.redis.fallback"

/** The waits that people configure, from milliseconds to minutes. In seconds. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

const counterOf = (id: string, unit: string, description: string) => (attributes: Attributes): Metric.Counter<number> =>
  Metric.counter(id, { description, incremental: true, attributes: { ...attributes, unit } })

const gaugeOf = (id: string, unit: string, description: string) => (attributes: Attributes): Metric.Gauge<number> =>
  Metric.gauge(id, { description, attributes: { ...attributes, unit } })

type MakeCounter = (attributes: Attributes) => Metric.Counter<number>
type MakeGauge = (attributes: Attributes) => Metric.Gauge<number>

export const attempts: MakeCounter = /* @__PURE__ */ counterOf(
  attemptsId,
  "{attempt}",
  "Attempts that started, the first of each run (original) and those after it (retry)"
)

export const exhausted: MakeCounter = /* @__PURE__ */ counterOf(
  exhaustedId,
  "{run}",
  "Runs that gave up on an error that was worth a retry"
)

export const waiting: MakeGauge = /* @__PURE__ */ gaugeOf(waitingId, "{run}", "Runs that wait for a retry")

export const delay = (attributes: Attributes): Metric.Histogram<number> =>
  Metric.histogram(delayId, {
    description: "Waits that began before a retry",
    boundaries,
    attributes: { ...attributes, unit: "s" }
  })

export const denied: MakeCounter = /* @__PURE__ */ counterOf(
  deniedId,
  "{retry}",
  "Retries that the client's retry budget refused"
)

export const unclassified: MakeCounter = /* @__PURE__ */ counterOf(
  unclassifiedId,
  "{error}",
  "Runs that ended with an error that nothing classified"
)

export const utilization: MakeGauge = /* @__PURE__ */ gaugeOf(
  utilizationId,
  "1",
  "Share of the retry budget that is used up, from 0 to 1"
)

/** Counted by the shared budget itself, by the name of the budget. */
export const redisFallback = (budget: string): Metric.Counter<number> => fallbacks({ [names.budget]: budget })

const fallbacks: MakeCounter = /* @__PURE__ */ counterOf(
  fallbacksId,
  "{decision}",
  "Decisions of a shared budget that were made in the process, because Redis did not answer"
)

/**
 * The name of a metric for Prometheus: the ending says what the number is. It is also what the OpenTelemetry Collector
 * makes of it, from its kind and unit. One that is not ours keeps its own.
 */
export const prometheusName = (name: string): string => {
  const ending = endingOf(name)
  return ending === undefined ? name : `${name.replaceAll(".", "_")}${ending}`
}

const endingOf = (name: string): string | undefined => {
  switch (name) {
    case attemptsId:
    case exhaustedId:
    case deniedId:
    case unclassifiedId:
    case fallbacksId:
      return "_total"
    case delayId:
      return "_seconds"
    case utilizationId:
      return "_ratio"
    case waitingId:
      return ""
  }
  return undefined
}

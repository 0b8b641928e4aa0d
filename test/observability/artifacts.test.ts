import { beforeAll, describe, expect, it } from "@effect/vitest"
import * as RetryControl from "@reprise/core/RetryControl"
import type * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as RetryMetrics from "@reprise/core/RetryMetrics"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import { PrometheusMetrics } from "effect/observability"
import * as Result from "effect/Result"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import * as prometheusText from "./prometheusText.ts"
import * as promql from "./promql.ts"
import { storm } from "./storm.ts"

const room = new URL("../../packages/core/", import.meta.url)
const read = (name: string) => readFileSync(new URL(`observability/${name}`, room), "utf8")

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string }
}

interface Panel {
  readonly title: string
  readonly description: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly targets: ReadonlyArray<{ readonly expr: string; readonly legendFormat: string }>
}

interface Dashboard {
  readonly panels: ReadonlyArray<Panel>
  readonly templating: { readonly list: ReadonlyArray<{ readonly name: string; readonly definition?: string }> }
}

// The command has the parser, and no test needs another.
const yaml = createRequire(new URL("../cli/package.json", room))("yaml") as { parse: (text: string) => unknown }

const alerts = (yaml.parse(read("alerts.yaml")) as { groups: ReadonlyArray<{ rules: ReadonlyArray<Rule> }> })
  .groups.flatMap((_) => _.rules)
const dashboard = JSON.parse(read("dashboard.json")) as Dashboard // Checked below, where it is read.
const runbook = read("runbook.md")

const anchors = [...runbook.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
  heading!.toLowerCase().replace(/[^\w -]/g, "").replaceAll(" ", "-")
)

/** What Prometheus adds where it scrapes. */
const scraped = ["job", "instance"]

const functions = ["sum", "max", "rate", "increase", "histogram_quantile", "topk"]

let samples: ReadonlyArray<prometheusText.Sample> = []

beforeAll(async () => {
  const text = Effect.andThen(storm, PrometheusMetrics.format({ metricNameMapper: RetryMetrics.prometheusName }))
  samples = prometheusText.parse(
    await Effect.runPromise(text.pipe(
      Effect.provide(RetryMetrics.layer),
      Effect.scoped,
      Effect.provideService(Metric.MetricRegistry, new Map())
    ))
  )
})

/** What a query names that no run exports. */
const unknown = ({ functions: called, grouping, selectors }: promql.Query): ReadonlyArray<string> => {
  const of = (metric: string) => samples.filter((_) => _.name === metric)
  const has = (metric: string, label: string) => of(metric).some((_) => label in _.labels)
  return [
    ...called.filter((_) => !functions.includes(_)),
    ...selectors.filter(({ metric }) => of(metric).length === 0).map((_) => _.metric),
    ...selectors.flatMap(({ matchers, metric }) =>
      matchers.filter(({ label, operator, value }) =>
        !has(metric, label) || (operator === "=" && !of(metric).some((_) => _.labels[label] === value))
      ).map((_) => `${metric}.${_.label}`)
    ),
    ...grouping.filter((label) => !scraped.includes(label) && !selectors.some((_) => has(_.metric, label)))
  ]
}

describe("alerts.yaml", () => {
  const names = alerts.map((_) => _.alert)

  it("has an alert for what a storm shows by", () => {
    expect(names).toEqual([
      "RepriseRunsExhausted",
      "RepriseRetryRatioHigh",
      "RepriseBudgetNearZero",
      "RepriseBudgetDenies",
      "RepriseRedisFallback",
      "RepriseErrorsUnclassified"
    ])
  })

  it.each(alerts)("$alert reads metrics, labels and values that runs export", ({ expr }) => {
    const query = promql.parse(expr)
    expect(query.selectors.length).toBeGreaterThan(0)
    expect(unknown(query)).toEqual([])
  })

  it.each(alerts)("$alert says what it is about, by labels that its query keeps", ({ annotations, expr, labels }) => {
    expect(["critical", "warning", "info"]).toContain(labels.severity)
    const query = promql.parse(expr)
    const kept = query.grouping.length === 0 ? [] : query.grouping
    const named = [...`${annotations.summary} ${annotations.description}`.matchAll(/\$labels\.(\w+)/g)].map((_) =>
      _[1]!
    )
    expect(named).toHaveLength(1)
    const labelled = query.selectors.some(({ metric }) =>
      samples.some((_) => _.name === metric && named.every((label) => label in _.labels))
    )
    expect(labelled && (kept.includes(named[0]!) || scraped.includes(kept[0]!))).toBe(true)
  })

  it.each(alerts)("$alert links to its place in the runbook", ({ alert, annotations }) => {
    const [file, anchor] = annotations.runbook_url.split("#")
    expect(file).toBe("runbook.md")
    expect(anchors).toContain(anchor)
    expect(runbook).toContain(`\`${alert}\``)
  })
})

describe("dashboard.json", () => {
  const targets = dashboard.panels.flatMap(({ targets, title }) => targets.map((target) => ({ title, ...target })))

  it.each(targets)("$title: $legendFormat reads what runs export, and names it by what the query keeps", (target) => {
    const query = promql.parse(target.expr)
    expect(unknown(query)).toEqual([])
    const legend = [...target.legendFormat.matchAll(/{{(\w+)}}/g)].map((_) => _[1])
    expect(legend.filter((label) => !query.grouping.includes(label!))).toEqual([])
  })

  it("shows every metric", () => {
    const read = targets.flatMap(({ expr }) => promql.parse(expr).selectors.map((_) => _.metric))
    const families = new Set(samples.map((_) => _.name))
    expect([...families].filter((name) => name.startsWith("reprise_") && !read.includes(name))).toEqual([])
  })

  it("has a description for each panel, and no two in one place", () => {
    expect(dashboard.panels.filter((_) => !_.description)).toEqual([])
    const places = dashboard.panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + i % w},${y + Math.floor(i / w)}`)
    )
    expect(new Set(places).size).toBe(places.length)
  })

  it("asks for operations by a label that there is", () => {
    const definition = dashboard.templating.list.find((_) => _.name === "operation")?.definition
    const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(definition ?? "") ?? []
    expect(samples.some((_) => _.name === metric && label! in _.labels)).toBe(true)
  })
})

describe("runbook.md", () => {
  it("links to places that it has, and to files beside it", () => {
    const links = [...runbook.matchAll(/\]\(([^)]*)\)/g)].map((_) => _[1]!)
    expect(links.filter((_) => _.startsWith("#") && !anchors.includes(_.slice(1)))).toEqual([])
    for (const file of links.filter((_) => !_.startsWith("#"))) expect(read(file)).not.toBe("")
  })

  it("names panels that the dashboard has", () => {
    const bold = [...runbook.matchAll(/\*\*(.+?)\*\*/g)].map((_) => _[1]!)
    const titles = dashboard.panels.map((_) => _.title)
    expect(bold.filter((_) => !titles.includes(_))).toEqual([])
  })

  it("explains every reason to give up", () => {
    const reasons: Record<RetryExhausted.ReasonTag, true> = {
      Attempts: true,
      End: true,
      Elapsed: true,
      Deadline: true,
      Budget: true,
      SwitchedOff: true,
      Unsafe: true,
      Collapsed: true,
      RetryAfterTooLong: true,
      Pushback: true,
      Layer: true
    }
    const rows = runbook.split("\n").filter((_) => _.startsWith("| `")).map((_) => _.split("|")[1]!)
    const explained = rows.flatMap((_) => [..._.matchAll(/`(\w+)`/g)].map((match) => match[1]!))
    expect(explained.toSorted()).toEqual(Object.keys(reasons).toSorted())
  })

  it("switches retries by states that are valid", () => {
    const states = runbook.match(/\{ ".*\}|`\{\}`/g)?.map((_) => _.replaceAll("`", "")) ?? []
    expect(states.length).toBeGreaterThan(7)
    expect(states.filter((_) => Result.isFailure(RetryControl.parse(_)))).toEqual([])
  })
})

describe("the reader of queries", () => {
  it("knows what a query reads", () => {
    expect(promql.parse("sum by (a) (rate(m{b=\"c\", d=~\"e\"}[5m])) / on (f) n > 0.5")).toEqual({
      selectors: [
        {
          metric: "m",
          matchers: [{ label: "b", operator: "=", value: "c" }, { label: "d", operator: "=~", value: "e" }]
        },
        { metric: "n", matchers: [] }
      ],
      grouping: ["a", "f"],
      functions: ["sum", "rate"]
    })
  })

  it.each(["sum(rate(m[5m])", "m{a}", "m{a=b}", "m[x]", "m ? n", "sum by (a, (m)"])("refuses %s", (text) => {
    expect(() => promql.parse(text)).toThrow(/Not PromQL|expected|Not balanced/)
  })

  it("finds what runs do not export", () => {
    const query = promql.parse(
      "foo(reprise_nothing, reprise_run_waiting{tenant=\"a\"}) + sum by (url) (reprise_run_waiting)"
    )
    expect(unknown(query)).toEqual(["foo", "reprise_nothing", "reprise_run_waiting.tenant", "url"])
  })
})

import type * as Plan from "../../Plan.ts"
import { spell } from "./duration.ts"
import { chosen, summary, times } from "./summary.ts"

const mostRows = 24

/** One row of a chart: solid up to `min`, shaded up to `max`, a dot at the mean. */
const bar = (min: number, mean: number | undefined, max: number, scale: number): string => {
  const cell = (millis: number) => Math.round(millis * scale)
  const drawn = "█".repeat(cell(min)) + "░".repeat(Math.max(0, cell(max) - cell(min)))
  if (mean === undefined || min === max) return drawn
  const dot = Math.min(cell(mean), Math.max(0, drawn.length - 1))
  return `${drawn.slice(0, dot)}●${drawn.slice(dot + 1)}`
}

interface Row {
  readonly retry: number
  readonly min: number
  readonly mean: number | undefined
  readonly max: number
  readonly text: string
}

const chart = (title: string, rows: ReadonlyArray<Row>, width: number): ReadonlyArray<string> => {
  const number = String(rows[rows.length - 1]!.retry).length
  const text = Math.max(...rows.map((row) => row.text.length))
  const room = Math.max(10, width - number - text - 4)
  const most = Math.max(...rows.map((row) => row.max))
  const scale = most === 0 ? 0 : room / most
  return [
    "",
    title,
    ...rows.map(({ max, mean, min, retry, text }) =>
      `${String(retry).padStart(number)}  ${bar(min, mean, max, scale).padEnd(room)}  ${text}`.trimEnd()
    )
  ]
}

const range = (min: number, max: number): string => min === max ? spell(max) : `${spell(min)} to ${spell(max)}`

/** See `Plan.toAscii`. */
export const toAscii = (plan: Plan.Plan, width: number): string => {
  const delays = chosen(plan.delays, mostRows)
  const charts = delays.length === 0 ? [] : [
    ...chart(
      "Wait before each retry (█ at least, ░ at most, ● mean)",
      delays.map(({ max, mean, min, retry }) => ({ retry, min, mean, max, text: range(min, max) })),
      width
    ),
    ...chart(
      "Start of each retry (█ at the earliest, ░ at the latest)",
      delays.map(({ retry, startEarliest, startLatest }) => ({
        retry,
        min: startEarliest,
        mean: undefined,
        max: startLatest,
        text: range(startEarliest, startLatest)
      })),
      width
    )
  ]
  return [plan.policy, plan.description, ...charts, "", ...summary(plan)].join("\n")
}

const cells = (plan: Plan.Plan): ReadonlyArray<string> => {
  if (plan._tag === "Unlimited") return ["no end", "", "", "", "", "no limit"]
  const { max, mean, p95 } = plan.total
  return [
    plan._tag === "Limited" ? String(plan.attempts) : "by time",
    spell(mean),
    spell(p95),
    spell(max),
    plan.worstCase === undefined ? "" : spell(plan.worstCase),
    times(plan.amplification)
  ]
}

const header = ["", "attempts", "mean wait", "p95", "longest", "worst case", "load"]

/** See `Plan.table`. */
export const table = (plans: Readonly<Record<string, Plan.Plan>>): string => {
  const rows = [header, ...Object.entries(plans).map(([name, plan]) => [name, ...cells(plan)])]
  const widths = header.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row.map((text, column) => column === 0 ? text.padEnd(widths[column]!) : text.padStart(widths[column]!)).join("  ")
    )
    .join("\n")
}

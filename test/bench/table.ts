import type { Row, Unit } from "./Row.ts"

/** The rows of one measurement. */
export interface Section {
  readonly name: string
  readonly title: string
  readonly rows: ReadonlyArray<Row>
}

const significant = (value: number): string => {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

const figure = (value: number | null, unit: Unit): string => value === null ? "" : `${significant(value)} ${unit}`

const target = ({ target, unit }: Row): string => {
  if (target === null) return ""
  const promise = `${target.is === "at most" ? "≤" : "≥"} ${target.value}${target.of === "ours" ? ` ${unit}` : ""}`
  return target.speed === undefined ? promise : `${promise} (speed ≥ ${target.speed})`
}

const cells = (row: Row): ReadonlyArray<string> => [
  `  ${row.what}`,
  figure(row.ours, row.unit),
  figure(row.other, row.unit),
  row.ratio === null ? "" : significant(row.ratio),
  row.rounds === 1 ? "" : row.spread.map(significant).join("–"),
  target(row),
  row.met === null ? "" : row.met ? "met" : "missed"
]

const heading = ["", "ours", "other", "ratio", "quartiles", "target", ""]

/** The sections as one table of aligned columns, for a terminal. */
export const render = (sections: ReadonlyArray<Section>): string => {
  const table = sections.map(({ rows, title }) => ({ title, lines: rows.map(cells) }))
  const lines = [heading, ...table.flatMap((_) => _.lines)]
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const write = (line: ReadonlyArray<string>) =>
    line.map((cell, column) => column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)).join("  ")
      .trimEnd()
  const written = table.flatMap(({ lines, title }) => ["", title, ...lines.map(write)])
  return [write(heading), ...written, ""].join("\n")
}

import type * as Plan from "../../Plan.ts"
import { spell } from "./duration.ts"
import { chosen, summary } from "./summary.ts"

interface Theme {
  readonly ground: string
  readonly text: string
  readonly quiet: string
  readonly line: string
  readonly sure: string
  readonly band: string
  readonly mean: string
}

const themes: Readonly<Record<"light" | "dark", Theme>> = {
  light: {
    ground: "#ffffff",
    text: "#1f2328",
    quiet: "#59636e",
    line: "#d8dee4",
    sure: "#5b8def",
    band: "#c3d7fb",
    mean: "#d1690e"
  },
  dark: {
    ground: "#0d1117",
    text: "#e6edf3",
    quiet: "#9198a1",
    line: "#2a313a",
    sure: "#4d7fd6",
    band: "#24406f",
    mean: "#f0a35e"
  }
}

const width = 760
const top = 96
const height = 190
const left = [78, 458] as const
const panel = 278
const mostColumns = 40

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" }

/** Text in XML, without the control characters that it cannot hold. */
const escape = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are the ones meant
  text.replace(/[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]/gu, "\ufffd").replace(/[&<>"]/g, (found) => escapes[found]!)

const short = (text: string, most: number): string => text.length <= most ? text : `${text.slice(0, most - 1)}…`

const day = 86_400_000
const distances = [
  ...[1, 10, 100].flatMap((power) => [power, 2 * power, 5 * power]),
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * 1000),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60_000),
  ...[1, 2, 3, 6, 12].map((hours) => hours * 3_600_000)
]

/** The distance of round lines that divide an axis into five parts at most. */
const distance = (most: number): number =>
  distances.find((step) => step * 5 >= most) ?? day * 10 ** Math.ceil(Math.log10(most / day / 5))

const at = (x: number): string => String(Math.round(x * 10) / 10)

const text = (x: number, y: number, fill: string, content: string, more = ""): string =>
  `<text x="${at(x)}" y="${at(y)}" fill="${fill}"${more}>${escape(content)}</text>`

/** Title, lines and labels of one panel, and the height of a time in it. */
const frame = (theme: Theme, x: number, title: string, most: number, retries: ReadonlyArray<number>) => {
  const scale = most === 0 ? 0 : height / most
  const y = (millis: number) => top + height - millis * scale
  const column = panel / retries.length
  const middle = (index: number) => x + column * (index + 0.5)
  const parts = [text(x, top - 14, theme.text, title, ` font-weight="600"`)]
  const step = most === 0 ? 1 : distance(most)
  for (let n = 0; n * step <= most; n++) {
    parts.push(
      `<path d="M${x} ${at(y(n * step))}h${panel}" stroke="${theme.line}"/>`,
      text(x - 8, y(n * step) + 4, theme.quiet, n === 0 ? "0" : spell(n * step), ` text-anchor="end"`)
    )
  }
  const every = Math.ceil(retries.length / 10)
  retries.forEach((retry, index) => {
    if (index % every > 0) return
    parts.push(text(middle(index), top + height + 18, theme.quiet, String(retry), ` text-anchor="middle"`))
  })
  parts.push(text(x + panel / 2, top + height + 36, theme.quiet, "retry", ` text-anchor="middle"`))
  return { parts, y, middle, column }
}

const waits = (theme: Theme, delays: ReadonlyArray<Plan.Delay>): ReadonlyArray<string> => {
  const most = Math.max(...delays.map((_) => _.max))
  const { column, middle, parts, y } = frame(theme, left[0], "Wait before each retry", most, delays.map((_) => _.retry))
  const wide = Math.min(column * 0.7, 34)
  const rect = (x: number, from: number, to: number, fill: string) =>
    `<rect x="${at(x)}" y="${at(y(to))}" width="${at(wide)}" height="${
      at(Math.max(0, y(from) - y(to)))
    }" fill="${fill}"/>`
  return [
    ...parts,
    ...delays.flatMap(({ max, mean, min, retry }, index) => {
      const x = middle(index) - wide / 2
      return [
        `<g><title>Retry ${retry}: ${spell(min)} to ${spell(max)}, mean ${spell(mean)}</title>`,
        rect(x, 0, min, theme.sure),
        rect(x, min, max, theme.band),
        `<path d="M${at(x)} ${at(y(mean))}h${at(wide)}" stroke="${theme.mean}" stroke-width="2"/></g>`
      ]
    })
  ]
}

const starts = (theme: Theme, plan: Plan.Plan, delays: ReadonlyArray<Plan.Delay>): ReadonlyArray<string> => {
  const most = Math.max(...delays.map((_) => _.startLatest))
  const retries = delays.map((_) => _.retry)
  const { middle, parts, y } = frame(theme, left[1], "Start of each retry", most, retries)
  const point = (millis: number, index: number) => `${at(middle(index))} ${at(y(millis))}`
  // Attempt 1 is where the axes meet.
  const first = `${left[1]} ${at(y(0))}`
  const upper = [first, ...delays.map((_, index) => point(_.startLatest, index))]
  const lower = delays.map((_, index) => point(_.startEarliest, index))
  let sum = 0
  const sums = plan.delays.map(({ mean }) => sum += mean)
  const means = delays.map(({ retry, startLatest }, index) => point(Math.min(sums[retry - 1]!, startLatest), index))
  return [
    ...parts,
    `<path d="M${[...upper, ...lower.toReversed()].join("L")}Z" fill="${theme.band}" stroke="${theme.band}"/>`,
    `<path d="M${upper.join("L")}" fill="none" stroke="${theme.sure}" stroke-width="1.5"/>`,
    `<path d="M${[first, ...means].join("L")}" fill="none" stroke="${theme.mean}" stroke-width="2"/>`
  ]
}

const legend = (theme: Theme): ReadonlyArray<string> =>
  ([["sure", "at least"], ["band", "at most"], ["mean", "mean, if attempts took no time"]] as const).flatMap(
    ([fill, label], index) => {
      const x = left[0] + [0, 90, 180][index]!
      return [
        `<rect x="${x}" y="${top + height + 52}" width="12" height="12" fill="${theme[fill]}"/>`,
        text(x + 18, top + height + 62, theme.quiet, label)
      ]
    }
  )

/** See `Plan.toSvg`. */
export const toSvg = (plan: Plan.Plan, name: "light" | "dark"): string => {
  const theme = themes[name]
  const delays = chosen(plan.delays, mostColumns)
  const lines = summary(plan)
  const below = delays.length === 0 ? top : top + height + 92
  const whole = below + lines.length * 20
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 ${width} ${whole}" ` +
    `width="${width}" height="${whole}" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>Plan of ${escape(plan.policy)}</title>`,
    `<desc>${escape(`${plan.description} ${lines.join(". ")}.`)}</desc>`,
    `<rect width="${width}" height="${whole}" fill="${theme.ground}"/>`,
    text(24, 34, theme.text, short(plan.policy, 86), ` font-family="ui-monospace, monospace" font-size="14"`),
    text(24, 56, theme.quiet, short(plan.description, 108)),
    ...(delays.length === 0 ? [] : [...waits(theme, delays), ...starts(theme, plan, delays), ...legend(theme)]),
    ...lines.map((line, index) => text(24, below + index * 20, theme.text, line)),
    "</svg>"
  ].join("\n")
}

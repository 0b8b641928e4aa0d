import { ratios, summarize, type Summary } from "./statistics.ts"

/** How a number is written, and what it counts. */
export type Unit = "ns" | "ms" | "bytes" | "kB" | "M/s" | "s"

/** What a row promises: of the ratio, or of our own figure where there is nobody to compare with. */
export interface Target {
  readonly of: "ratio" | "ours"
  readonly is: "at most" | "at least"
  readonly value: number
  /** Where it was promised of the speed, which is the inverse of the time: ours at least so much of the other's. */
  readonly speed?: number
}

/** One line of the table. */
export interface Row {
  readonly what: string
  readonly unit: Unit
  readonly ours: number
  /** The other side's figure; `null` without another side. */
  readonly other: number | null
  readonly ratio: number | null
  /** Quartiles of the ratio, or of our own figure without another side. */
  readonly spread: readonly [number, number]
  readonly rounds: number
  readonly target: Target | null
  readonly met: boolean | null
}

const meets = (target: Target, ours: number, ratio: number | null): boolean => {
  const value = target.of === "ours" ? ours : ratio
  if (value === null) throw new Error("A ratio is promised, and there is none")
  return target.is === "at most" ? value <= target.value : value >= target.value
}

const row = (
  what: string,
  unit: Unit,
  ours: Summary,
  other: Summary | undefined,
  ratio: Summary | undefined,
  rounds: number,
  target: Target | undefined
): Row => ({
  what,
  unit,
  ours: ours.median,
  other: other?.median ?? null,
  ratio: ratio?.median ?? null,
  spread: [(ratio ?? ours).lower, (ratio ?? ours).upper],
  rounds,
  target: target ?? null,
  met: target === undefined ? null : meets(target, ours.median, ratio?.median ?? null)
})

/** What two sides measured, sample against sample of the same round. */
export const compare = (
  what: string,
  unit: Unit,
  ours: ReadonlyArray<number>,
  others: ReadonlyArray<number>,
  target?: Target
): Row => row(what, unit, summarize(ours), summarize(others), summarize(ratios(ours, others)), ours.length, target)

/** A figure that nobody is compared with. */
export const alone = (what: string, unit: Unit, ours: ReadonlyArray<number>, target?: Target): Row =>
  row(what, unit, summarize(ours), undefined, undefined, ours.length, target)

export const atMost = (value: number, of: Target["of"] = "ratio"): Target => ({ of, is: "at most", value })

export const atLeast = (value: number, of: Target["of"] = "ratio"): Target => ({ of, is: "at least", value })

/** A promise of our speed, operations a second ÷ the other side's. What is measured is the time. */
export const speedAtLeast = (speed: number): Target => ({ of: "ratio", is: "at most", value: 1 / speed, speed })

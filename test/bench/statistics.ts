/** A number that stands for many, with what it leaves out. */
export interface Summary {
  readonly median: number
  /** A quarter of the samples lies below. */
  readonly lower: number
  /** A quarter of the samples lies above. */
  readonly upper: number
}

/** The value below which this part of the samples lies, interpolated between the two nearest. */
export const quantile = (samples: ReadonlyArray<number>, part: number): number => {
  if (samples.length === 0) throw new RangeError("No samples")
  const sorted = samples.toSorted((a, b) => a - b)
  const position = part * (sorted.length - 1)
  const below = sorted[Math.floor(position)]!
  return below + (sorted[Math.ceil(position)]! - below) * (position % 1)
}

export const summarize = (samples: ReadonlyArray<number>): Summary => ({
  median: quantile(samples, 0.5),
  lower: quantile(samples, 0.25),
  upper: quantile(samples, 0.75)
})

/** Sample by sample: what was measured side by side is compared side by side, so a slow moment is slow for both. */
export const ratios = (ours: ReadonlyArray<number>, others: ReadonlyArray<number>): ReadonlyArray<number> => {
  if (ours.length !== others.length) throw new RangeError(`${ours.length} samples against ${others.length}`)
  return ours.map((sample, index) => sample / others[index]!)
}

import type { Row } from "./Row.ts"

/** How many rounds or runs: as many, or with `--quick` so many, or with `--smoke` next to none. */
export type Many = (full: number, quick: number) => number

interface Options {
  /** Not for a number to quote. */
  readonly quick: boolean
  readonly many: Many
}

/** One file of measurements. */
export interface Measurement {
  readonly title: string
  readonly measure: (options: Options) => Promise<ReadonlyArray<Row>>
}

import type { Row } from "./Row.ts"

interface Options {
  /** Fewer and smaller rounds: for a look, not for a number to quote. */
  readonly quick: boolean
}

/** One file of measurements. */
export interface Measurement {
  readonly title: string
  readonly measure: (options: Options) => Promise<ReadonlyArray<Row>>
}

import type { Meter, Withdrawal } from "./meter.ts"

/** Takes back a withdrawal whose retry was counted as started, and never will be. */
export const undo = (meter: Meter, now: number, withdrawal: Withdrawal): void => {
  if (meter.undo !== undefined) return meter.undo(now, withdrawal)
  // At the least, it holds no place any more.
  meter.settle?.(withdrawal)
}

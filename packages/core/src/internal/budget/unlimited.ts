import type { Meter, Withdrawal } from "./meter.ts"

/** Says no to everybody. */
export const none: Meter = {
  request: () => {},
  balance: () => 0,
  ceiling: () => 1,
  withdraw: () => undefined,
  refund: () => {},
  start: () => 0,
  settle: undefined,
  failure: undefined,
  success: undefined,
  enter: undefined,
  exit: undefined,
  idle: () => true
}

// Nothing is taken, so all may hold the same.
const nothing: Withdrawal = {}

/** Says yes to everybody. */
export const meter: Meter = {
  ...none,
  balance: () => Infinity,
  ceiling: () => Infinity,
  withdraw: () => nothing
}

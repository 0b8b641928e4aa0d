/**
 * What a process may spend while it cannot ask: its share of what the fleet has.
 *
 * The fleet's limit is a ratio of the requests of all. An equal part of it for each process would starve the busy ones
 * and give the idle ones what they cannot use. So each keeps what its own requests bring, which adds up to the limit
 * exactly, and an equal part of what belongs to nobody: the balance that was last heard of, and what tops up the
 * requests' part to the reserve.
 */
import type { Ledger } from "./ledger.ts"
import { unit } from "./script.ts"

/** What Redis said last. */
export interface Heard {
  readonly at: number
  /** In units. */
  readonly balance: number
  /** Processes that live; at least 1. */
  readonly live: number
  /** In units a second. */
  readonly topUp: number
}

/** In units, as a balance is. */
export const balance = (
  { at, balance, live, topUp }: Heard,
  ledger: Ledger,
  options: { readonly ratio: number; readonly window: number },
  now: number
): number => {
  const { own, requests } = ledger.untold(now)
  const seconds = Math.min(Math.max(0, now - at), options.window) / 1000
  const common = balance * ledger.part(now, at) + topUp * seconds
  // Adding zero makes a zero of a negative one.
  return Math.round(common / live + (requests * options.ratio - own) * unit) + 0
}

/**
 * How many runs wait on a budget: retries that were granted and have neither started nor been taken back. Their number
 * is bounded, because each is a fibre with what it holds, and all may wait for one date.
 */
import type { Withdrawal } from "./meter.ts"

/** What every withdrawal says of itself. */
export interface Ticket {
  stage: "waiting" | "started" | "over"
}

export interface Waiting {
  readonly full: () => boolean
  readonly none: () => boolean
  /** Counts a ticket, which must be new. */
  readonly add: <T extends Ticket>(ticket: T) => T
  /** Its retry starts. Whether it had waited until now. */
  readonly start: (ticket: Ticket) => boolean
  /** Its retry will never start. Whether it had waited until now: only then is there something to take back. */
  readonly cancel: (ticket: Ticket) => boolean
  /** Its retry had started and yet is never made. Whether that is news: only then is there something to take back. */
  readonly undo: (ticket: Ticket) => boolean
}

export const make = (most: number): Waiting => {
  let waiting = 0
  const leave = (ticket: Ticket, stage: "started" | "over"): boolean => {
    if (ticket.stage !== "waiting") return false
    ticket.stage = stage
    waiting--
    return true
  }
  return {
    full: () => waiting >= most,
    none: () => waiting === 0,
    add: (ticket) => {
      waiting++
      return ticket
    },
    start: (ticket) => leave(ticket, "started"),
    cancel: (ticket) => leave(ticket, "over"),
    undo: (ticket) => {
      if (ticket.stage !== "started") return false
      ticket.stage = "over"
      return true
    }
  }
}

/** A withdrawal as the ticket that its meter made. */
export const ticketOf = <T extends Ticket>(withdrawal: Withdrawal): T =>
  // The driver hands back to a meter only what that meter gave it.
  withdrawal as T

/** What the meters do alike whose retries are taken from a slice of time, and start at a pace. */
import type { Withdrawal } from "./meter.ts"
import * as pacing from "./pacing.ts"
import { ticketOf } from "./waiting.ts"
import * as waiting from "./waiting.ts"

export interface Options {
  readonly ratio: number
  readonly minPerSecond: number
  readonly maxWaiting: number
}

interface Taken extends pacing.Paced {
  /** The slice that it was taken from. */
  readonly slice: number
}

/** The part of a meter that follows a withdrawal once it is made. */
type After = Pick<
  pacing.PacedMeter,
  "refund" | "ready" | "start" | "undo" | "settle" | "failure" | "success" | "enter" | "exit"
>

export interface Paced {
  readonly request: (time: number) => void
  /** Whether as many retries wait as may. */
  readonly full: () => boolean
  readonly grant: (slice: number) => Withdrawal
  /** Whether nobody waits, and no retry has started in the last second. */
  readonly quiet: (time: number) => boolean
  readonly after: After
}

/** `timeOf` makes the meter's time of a clock's, and `giveBack` puts back what was taken from a slice. */
export const make = (
  { maxWaiting, minPerSecond, ratio }: Options,
  timeOf: (now: number) => number,
  giveBack: (now: number, slice: number) => void
): Paced => {
  const paces = pacing.make(ratio, minPerSecond)
  const waits = waiting.make(maxWaiting)
  return {
    request: paces.request,
    full: waits.full,
    grant: (slice) => waits.add<Taken>({ stage: "waiting", askAt: undefined, slice }),
    quiet: (time) => waits.none() && paces.quiet(time),
    after: {
      refund: (now, withdrawal) => {
        const ticket = ticketOf<Taken>(withdrawal)
        if (!waits.cancel(ticket)) return
        paces.leave(ticket)
        giveBack(now, ticket.slice)
      },
      ready: (now, withdrawal) => paces.ready(timeOf(now), ticketOf<Taken>(withdrawal)),
      start: (now, withdrawal) => {
        const time = timeOf(now)
        const ticket = ticketOf<Taken>(withdrawal)
        const wait = paces.ready(time, ticket)
        if (wait === 0 && waits.start(ticket)) paces.start(time, ticket)
        return wait
      },
      undo: (now, withdrawal) => {
        const ticket = ticketOf<Taken>(withdrawal)
        if (waits.undo(ticket)) giveBack(now, ticket.slice)
      },
      settle: undefined,
      failure: undefined,
      success: undefined,
      enter: undefined,
      exit: undefined
    }
  }
}

/** A budget that a fleet shares, as the runs of one process ask it. */
import * as Effect from "effect/Effect"
import type { Withdrawal } from "../meter.ts"
import * as pacing from "../pacing.ts"
import * as perRun from "../perRun.ts"
import { ticketOf } from "../waiting.ts"
import * as waiting from "../waiting.ts"
import type { Ledger } from "./ledger.ts"
import type { Link } from "./link.ts"
import type { Settings } from "./options.ts"
import { unit } from "./script.ts"
import * as share from "./share.ts"

interface Taken extends pacing.Paced {
  /** The slice that it was taken in. */
  readonly slice: number
}

/** `alone` is told of each decision that the process makes by itself. */
export const make = (link: Link, ledger: Ledger, settings: Settings, alone: () => void): pacing.PacedMeter => {
  const { maxWaiting, minPerSecond, perOperation, ratio, whileAway } = settings
  const paces = pacing.make(ratio, minPerSecond)
  const waits = waiting.make(maxWaiting)

  const units = (now: number): number => {
    if (link.joined()) return link.heard().balance
    return whileAway === "deny" ? 0 : share.balance(link.heard(), ledger, settings, now)
  }
  const balance = (now: number): number => units(now) / unit
  const ticket = (slice: number): Taken => waits.add({ stage: "waiting", askAt: undefined, slice })
  /** What the process decides by itself. */
  const decided = (now: number): Withdrawal | undefined => {
    alone()
    if (whileAway === "deny" || share.balance(link.heard(), ledger, settings, now) < unit) return undefined
    const slice = ledger.at(now)
    ledger.own(slice, 1)
    return ticket(slice)
  }
  const asked = (now: number): Effect.Effect<Withdrawal | undefined> =>
    Effect.callback((resume) => {
      let wanted = true
      link.withdraw((answer, slice) => {
        let withdrawal: Withdrawal | undefined
        // Many may have asked at once, and more have been granted than may wait.
        if (wanted && answer !== "denied" && !waits.full()) {
          withdrawal = answer === "granted" ? ticket(slice) : decided(now)
        } else if (answer === "granted") ledger.own(slice, -1)
        resume(Effect.succeed(withdrawal))
      })
      return Effect.sync(() => {
        wanted = false
      })
    })

  return {
    request: (now) => {
      ledger.request(now)
      paces.request(now)
    },
    balance,
    ceiling: (now) => perRun.ceiling(perOperation, balance(now), 2),
    withdraw: (now) => {
      if (waits.full()) return undefined
      if (link.joined()) return asked(now)
      return decided(now)
    },
    refund: (_, withdrawal) => {
      const taken = ticketOf<Taken>(withdrawal)
      if (!waits.cancel(taken)) return
      paces.leave(taken)
      ledger.own(taken.slice, -1)
    },
    undo: (_, withdrawal) => {
      const taken = ticketOf<Taken>(withdrawal)
      if (waits.undo(taken)) ledger.own(taken.slice, -1)
    },
    ready: (now, withdrawal) => paces.ready(now, ticketOf<Taken>(withdrawal)),
    start: (now, withdrawal) => {
      const taken = ticketOf<Taken>(withdrawal)
      const wait = paces.ready(now, taken)
      if (wait === 0 && waits.start(taken)) paces.start(now, taken)
      return wait
    },
    settle: undefined,
    failure: undefined,
    success: undefined,
    enter: undefined,
    exit: undefined,
    // What was taken is kept elsewhere, and a new meter would find it there.
    idle: (now) => waits.none() && paces.quiet(now)
  }
}

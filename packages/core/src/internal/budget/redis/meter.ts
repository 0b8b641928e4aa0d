/** A budget that a fleet shares, as the runs of one process ask it. */
import * as Effect from "effect/Effect"
import type { Withdrawal } from "../meter.ts"
import * as paced from "../paced.ts"
import type { PacedMeter } from "../pacing.ts"
import * as perRun from "../perRun.ts"
import type { Ledger } from "./ledger.ts"
import type { Link } from "./link.ts"
import type { Settings } from "./options.ts"
import { unit } from "./script.ts"
import * as share from "./share.ts"

/** `alone` is told of each decision that the process makes by itself. */
export const make = (link: Link, ledger: Ledger, settings: Settings, alone: () => void): PacedMeter => {
  const { perOperation, whileAway } = settings
  const retries = paced.make(settings, (now) => now, (_, slice) => ledger.own(slice, -1))

  const units = (now: number): number => {
    if (link.joined()) return link.heard().balance
    return whileAway === "deny" ? 0 : share.balance(link.heard(), ledger, settings, now)
  }
  const balance = (now: number): number => units(now) / unit
  /** What the process decides by itself. */
  const decided = (now: number): Withdrawal | undefined => {
    alone()
    if (whileAway === "deny" || share.balance(link.heard(), ledger, settings, now) < unit) return undefined
    const slice = ledger.at(now)
    ledger.own(slice, 1)
    return retries.grant(slice)
  }
  const asked = (now: number): Effect.Effect<Withdrawal | undefined> =>
    Effect.callback((resume) => {
      let wanted = true
      link.withdraw((answer, slice) => {
        let withdrawal: Withdrawal | undefined
        // Many may have asked at once, and more have been granted than may wait.
        if (wanted && answer !== "denied" && !retries.full()) {
          withdrawal = answer === "granted" ? retries.grant(slice) : decided(now)
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
      retries.request(now)
    },
    balance,
    ceiling: (now) => perRun.ceiling(perOperation, balance(now), 2),
    withdraw: (now) => {
      if (retries.full()) return undefined
      if (link.joined()) return asked(now)
      return decided(now)
    },
    ...retries.after,
    // What was taken is kept elsewhere, and a new meter would find it there.
    idle: retries.quiet
  }
}

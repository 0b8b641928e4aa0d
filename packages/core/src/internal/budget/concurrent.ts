/**
 * Envoy's budget: at any time, retries are at most a share of the attempts in flight.
 *
 * Source: envoyproxy/envoy, `resource_manager_impl.h` and `circuit_breaker.proto`.
 */
import type { Meter, Withdrawal } from "./meter.ts"
import { type Ticket, ticketOf } from "./waiting.ts"
import * as waiting from "./waiting.ts"

export interface Options {
  readonly percent: number
  readonly minimum: number
  readonly maxWaiting: number
}

export const make = ({ maxWaiting, minimum, percent }: Options): Meter => {
  const waits = waiting.make(maxWaiting)
  let active = 0
  // Retries from the decision until their outcome, so the waiting ones too.
  let retries = 0
  const settle = (withdrawal: Withdrawal): void => {
    if (waits.undo(ticketOf(withdrawal))) retries--
  }
  const limit = (): number => Math.max(Math.trunc(percent * active / 100), minimum)
  return {
    request: () => {},
    balance: () => limit() - retries,
    ceiling: () => Infinity,
    withdraw: () => {
      if (retries >= limit() || waits.full()) return undefined
      retries++
      return waits.add<Ticket>({ stage: "waiting" })
    },
    refund: (_, withdrawal) => {
      if (waits.cancel(ticketOf(withdrawal))) retries--
    },
    start: (_, withdrawal) => {
      waits.start(ticketOf(withdrawal))
      return 0
    },
    undo: (_, withdrawal) => settle(withdrawal),
    settle,
    failure: undefined,
    success: undefined,
    enter: () => {
      active++
    },
    exit: () => {
      active--
    },
    idle: () => active === 0 && retries === 0
  }
}

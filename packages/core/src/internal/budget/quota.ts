/**
 * The retry quota of the AWS SDKs: a capacity that retries use up, and that successes give back.
 *
 * Source: boto/botocore, `retries/quota.py` and `retries/standard.py`.
 */
import * as Cause from "effect/Cause"
import { find, get } from "../causeChain.ts"
import type { Failure, Meter } from "./meter.ts"
import * as perRun from "./perRun.ts"
import { type Ticket, ticketOf } from "./waiting.ts"
import * as waiting from "./waiting.ts"

export interface Options {
  readonly capacity: number
  readonly retryCost: number
  readonly timeoutCost: number
  readonly cost: ((error: unknown) => number) | undefined
  readonly perOperation: number
  readonly maxWaiting: number
}

interface Taken extends Ticket {
  readonly cost: number
}

// Node.js and libuv, the old request library, c-ares; undici, net and TLS.
const timeoutCode = /^(?:E(?:SOCKET)?TIMED?OUT|(?:UND_)?ERR_\w+_TIMEOUT)$/

const isTimeout = (error: object): true | undefined => {
  if (get(error, Cause.TimeoutErrorTypeId) !== undefined || get(error, "name") === "TimeoutError") return true
  const code = get(error, "code")
  return typeof code === "string" && timeoutCode.test(code) ? true : undefined
}

export const make = (options: Options): Meter => {
  const { capacity, maxWaiting, perOperation, retryCost, timeoutCost } = options
  const waits = waiting.make(maxWaiting)
  let available = capacity

  const published = ({ error, timedOut }: Failure): number =>
    timedOut || find(error, isTimeout) === true ? timeoutCost : retryCost
  const costOf = (failure: Failure): number => {
    if (options.cost === undefined) return published(failure)
    try {
      // Whole units, so that nothing drifts.
      const cost = Math.ceil(options.cost(failure.error))
      return cost >= 0 ? cost : published(failure)
    } catch {
      // It is asked about errors that its author never saw: one that throws does not know them.
      return published(failure)
    }
  }
  const balance = (): number => available / retryCost
  const giveBack = (cost: number): void => {
    available = Math.min(capacity, available + cost)
  }

  return {
    request: () => {},
    balance,
    ceiling: () => perRun.ceiling(perOperation, balance()),
    withdraw: (_, failure) => {
      const cost = costOf(failure)
      if (cost > available || waits.full()) return undefined
      available -= cost
      return waits.add<Taken>({ stage: "waiting", cost })
    },
    refund: (_, withdrawal) => {
      const ticket = ticketOf<Taken>(withdrawal)
      if (waits.cancel(ticket)) giveBack(ticket.cost)
    },
    start: (_, withdrawal) => {
      waits.start(ticketOf(withdrawal))
      return 0
    },
    undo: (_, withdrawal) => {
      const ticket = ticketOf<Taken>(withdrawal)
      if (waits.undo(ticket)) giveBack(ticket.cost)
    },
    settle: undefined,
    failure: undefined,
    success: (_, last) => giveBack(last === undefined ? 1 : ticketOf<Taken>(last).cost),
    enter: undefined,
    exit: undefined,
    idle: () => available === capacity && waits.none()
  }
}

/**
 * gRPC's retry throttling: failures take tokens, successes bring a part of one, and below half there are no retries.
 *
 * Source: grpc/proposal, `A6-client-retries.md`; grpc-java, `RetriableStream.java`.
 */
import type { Meter } from "./meter.ts"
import { type Ticket, ticketOf } from "./waiting.ts"
import * as waiting from "./waiting.ts"

export interface Options {
  readonly maxTokens: number
  readonly tokenRatio: number
  readonly maxWaiting: number
}

/** As published, decimals after the third do not count; a fraction that binary cannot hold does not lose its last. */
const thousandths = (tokens: number): number => Math.floor(tokens * 1000 + 1e-6)

export const make = ({ maxTokens, maxWaiting, tokenRatio }: Options): Meter => {
  const most = thousandths(maxTokens)
  const gain = thousandths(tokenRatio)
  const waits = waiting.make(maxWaiting)
  let tokens = most
  // What a failure took is not given back, so a withdrawal takes nothing and only waits.
  return {
    request: () => {},
    // The next failure takes a token before the retry is asked for.
    balance: () => (tokens - most / 2 - 1000) / 1000,
    ceiling: () => Infinity,
    withdraw: () => tokens * 2 > most && !waits.full() ? waits.add<Ticket>({ stage: "waiting" }) : undefined,
    refund: (_, withdrawal) => {
      waits.cancel(ticketOf(withdrawal))
    },
    start: (_, withdrawal) => {
      waits.start(ticketOf(withdrawal))
      return 0
    },
    settle: undefined,
    failure: () => {
      tokens = Math.max(0, tokens - 1000)
    },
    success: () => {
      tokens = Math.min(most, tokens + gain)
    },
    enter: undefined,
    exit: undefined,
    idle: () => tokens === most && waits.none()
  }
}

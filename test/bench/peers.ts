// What the peers are given to do: the policy of `policy.ts`, in their own words.
import { StandardRetryStrategy } from "@smithy/util-retry"
import asyncRetry from "async-retry"
import { ExponentialBackoff, fullJitterGenerator, handleAll, retry } from "cockatiel"
import { backOff } from "exponential-backoff"
import pRetry from "p-retry"

type Operation = () => Promise<number>
type Runner = (operation: Operation) => Promise<number>

const base = 200
const cap = 5_000
const retries = 2

const cockatielPolicy = retry(handleAll, {
  maxAttempts: retries,
  backoff: new ExponentialBackoff({ generator: fullJitterGenerator, initialDelay: base, maxDelay: cap })
})

const pRetryOptions = { retries, factor: 2, minTimeout: base, maxTimeout: cap, randomize: true }

const asyncRetryOptions = { retries, factor: 2, minTimeout: base, maxTimeout: cap, randomize: true }

const backOffOptions = {
  numOfAttempts: retries + 1,
  startingDelay: base,
  timeMultiple: 2,
  maxDelay: cap,
  jitter: "full"
} as const

const strategy = new StandardRetryStrategy({ maxAttempts: retries + 1, baseDelay: base })

// The loop of the SDK's own retry middleware, without the HTTP around it.
const smithy: Runner = async (operation) => {
  let token = await strategy.acquireInitialRetryToken("")
  while (true) {
    try {
      const value = await operation()
      strategy.recordSuccess(token)
      return value
    } catch (error) {
      try {
        token = await strategy.refreshRetryTokenForRetry(token, { errorType: "TRANSIENT" })
      } catch {
        throw error
      }
      const delay = token.getRetryDelay()
      if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay))
    }
  }
}

const byHand: Runner = async (operation) => {
  for (let attempt = 1;; attempt++) {
    try {
      return await operation()
    } catch (error) {
      if (attempt > retries) throw error
      const delay = Math.min(base * 2 ** (attempt - 1), cap) * Math.random()
      await new Promise((resolve) => setTimeout(resolve, delay))
    }
  }
}

/** One call each, the way their documentation shows it; whatever can be shared between calls is. */
export const peers = {
  "cockatiel": (operation) => cockatielPolicy.execute(operation),
  "p-retry": (operation) => pRetry(operation, pRetryOptions),
  "async-retry": (operation) => asyncRetry(operation, asyncRetryOptions),
  "exponential-backoff": (operation) => backOff(operation, backOffOptions),
  "@smithy/util-retry": smithy,
  "a loop by hand": byHand
} satisfies Record<string, Runner>

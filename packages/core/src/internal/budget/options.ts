/** The options of budgets, checked and with their defaults. */
import type * as Duration from "effect/Duration"
import { InvalidPolicy } from "../../InvalidPolicy.ts"
import type * as RetryBudget from "../../RetryBudget.ts"
import * as validate from "../validate.ts"
import type * as concurrentMeter from "./concurrent.ts"
import type * as quotaMeter from "./quota.ts"
import type * as ratioMeter from "./ratio.ts"
import type * as throttleMeter from "./throttle.ts"
import type * as topUpMeter from "./topUp.ts"

const between = (argument: string, value: number, least: number, most: number): number => {
  if (value >= least && value <= most) return value
  throw new InvalidPolicy({ argument, value, rule: `a number from ${least} to ${most}` })
}

const window = (argument: string, value: Duration.Input): number => {
  const millis = validate.duration(argument, value, 1000)
  if (millis <= 60_000) return millis
  throw new InvalidPolicy({ argument, value, rule: "at most 60 seconds" })
}

const maxWaiting = (argument: string, value = 1000): number => validate.integer(`${argument}.maxWaiting`, value, 1)

const windowed = (
  argument: string,
  options: RetryBudget.RatioOptions,
  ratio: number,
  minPerSecond: number
): ratioMeter.Options => ({
  ratio: between(`${argument}.ratio`, options.ratio ?? ratio, 0, 10),
  minPerSecond: validate.number(`${argument}.minPerSecond`, options.minPerSecond ?? minPerSecond, 0),
  window: window(`${argument}.window`, options.window ?? 10_000),
  perOperation: between(`${argument}.perOperation`, options.perOperation ?? 0.2, 0, 1),
  maxWaiting: maxWaiting(argument, options.maxWaiting)
})

export const topUp = (argument: string, options: RetryBudget.MakeOptions): topUpMeter.Options => ({
  ...windowed(argument, validate.options(`${argument}.options`, options), 0.1, 0.3),
  initial: validate.number(`${argument}.initial`, options.initial ?? 1, 0)
})

export const ratio = (argument: string, options: RetryBudget.RatioOptions): ratioMeter.Options =>
  windowed(argument, validate.options(`${argument}.options`, options), 0.2, 10)

export const throttle = (argument: string, options: RetryBudget.ThrottleOptions): throttleMeter.Options => {
  const { maxTokens = 10, tokenRatio = 0.1 } = validate.options(`${argument}.options`, options)
  return {
    maxTokens: between(`${argument}.maxTokens`, maxTokens, 0.001, 1000),
    tokenRatio: between(`${argument}.tokenRatio`, tokenRatio, 0.001, 1000),
    maxWaiting: maxWaiting(argument, options.maxWaiting)
  }
}

export const quota = (argument: string, options: RetryBudget.QuotaOptions): quotaMeter.Options => {
  const { capacity = 500, cost, perOperation = 0.2, retryCost = 5, timeoutCost = 10 } = validate.options(
    `${argument}.options`,
    options
  )
  if (cost !== undefined && typeof cost !== "function") {
    throw new InvalidPolicy({ argument: `${argument}.cost`, value: cost, rule: "a function" })
  }
  return {
    capacity: validate.integer(`${argument}.capacity`, capacity, 1),
    retryCost: validate.integer(`${argument}.retryCost`, retryCost, 1),
    timeoutCost: validate.integer(`${argument}.timeoutCost`, timeoutCost, 1),
    cost,
    perOperation: between(`${argument}.perOperation`, perOperation, 0, 1),
    maxWaiting: maxWaiting(argument, options.maxWaiting)
  }
}

export const concurrent = (argument: string, options: RetryBudget.ConcurrentOptions): concurrentMeter.Options => {
  const { minimum = 3, percent = 20 } = validate.options(`${argument}.options`, options)
  return {
    percent: between(`${argument}.percent`, percent, 0, 100),
    minimum: validate.integer(`${argument}.minimum`, minimum, 0),
    maxWaiting: maxWaiting(argument, options.maxWaiting)
  }
}

/** The options of a budget in Redis, checked and with their defaults. */
import { InvalidPolicy } from "../../../InvalidPolicy.ts"
import type { RedisOptions } from "../../../RetryBudget.ts"
import * as validate from "../../validate.ts"
import * as validated from "../options.ts"
import type { Options as RatioOptions } from "../ratio.ts"

export interface Settings extends RatioOptions {
  readonly name: string
  /** Milliseconds that a retry waits for Redis. */
  readonly timeout: number
  /** Milliseconds between flushes. */
  readonly flush: number
  readonly whileAway: "share" | "deny"
}

const between = (argument: string, value: number, most: number): number => {
  if (value <= most) return value
  throw new InvalidPolicy({ argument, value, rule: `at most ${most} ms` })
}

export const settings = (argument: string, options: RedisOptions): Settings => {
  const { flush, name, timeout = 50, whileAway = "share" } = validate.options(`${argument}.options`, options)
  // Braces are what Redis Cluster finds the keys' node by.
  if (typeof name !== "string" || !/^[^{}]{1,256}$/.test(name)) {
    throw new InvalidPolicy({ argument: `${argument}.name`, value: name, rule: "1 to 256 characters without braces" })
  }
  if (whileAway !== "share" && whileAway !== "deny") {
    throw new InvalidPolicy({ argument: `${argument}.whileAway`, value: whileAway, rule: "\"share\" or \"deny\"" })
  }
  const { maxWaiting, minPerSecond, perOperation, ratio, window } = validated.topUp(argument, options)
  return {
    name,
    ratio,
    minPerSecond,
    window,
    perOperation,
    maxWaiting,
    timeout: between(`${argument}.timeout`, validate.duration(`${argument}.timeout`, timeout, 1), 1000),
    flush: between(
      `${argument}.flush`,
      validate.duration(`${argument}.flush`, flush ?? Math.min(1000, window / 10), 50),
      10_000
    ),
    whileAway
  }
}

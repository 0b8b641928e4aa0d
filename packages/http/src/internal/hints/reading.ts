/**
 * From what the rules of a profile find to one answer.
 */
import type * as Transience from "@reprise/core/Transience"
import type { Context, Finding, Incoming, Options, Reading, Response, Rule } from "../../RetryHint.ts"
import { lastMoment } from "./calendar.ts"
import * as httpDate from "./httpDate.ts"
import * as incoming from "./incoming.ts"
import { digits, trim } from "./text.ts"

/** Past this no wait is meant, and milliseconds stop being exact; core has the same bound. */
const longestWait = 1e15

/** What the rules, in their order, make of a response: the first wait and the first verdict count. */
export const read = (response: Response, options: Options, rules: ReadonlyArray<Rule>): Reading => {
  const seen = incoming.make(response)
  const context = contextOf(seen, options)
  let wait: { readonly hint: Transience.Hint; readonly source: string; readonly tooLong: boolean } | undefined
  let verdict: { readonly shouldRetry: boolean; readonly decidedBy: string } | undefined
  for (const rule of rules) {
    if (wait !== undefined && verdict !== undefined) break
    const finding = ask(rule, seen, context)
    if (finding === undefined) continue
    const source = finding.source ?? rule.source
    const hint = settle(finding.hint)
    if (hint !== undefined && wait === undefined) {
      const endless = hint._tag === "After" && hint.millis === Infinity
      wait = { hint, source, tooLong: endless || finding.tooLong === true }
    }
    if (typeof finding.shouldRetry === "boolean") verdict ??= { shouldRetry: finding.shouldRetry, decidedBy: source }
  }
  return {
    hint: wait?.hint,
    source: wait?.source,
    tooLong: wait?.tooLong ?? false,
    shouldRetry: verdict?.shouldRetry,
    decidedBy: verdict?.decidedBy
  }
}

/** A rule of somebody else's may throw; then it found nothing. */
const ask = (rule: Rule, seen: Incoming, context: Context): Finding | undefined => {
  try {
    return rule.read(seen, context)
  } catch {
    return undefined
  }
}

/** A hint within bounds: never negative, never NaN, and `Infinity` when no wait can be that long. */
const settle = (hint: Transience.Hint | undefined): Transience.Hint | undefined => {
  if (hint?._tag === "After") {
    if (Number.isNaN(hint.millis)) return undefined
    return { _tag: "After", millis: hint.millis > longestWait ? Infinity : Math.max(0, hint.millis) }
  }
  if (hint?._tag === "At") {
    if (Number.isNaN(hint.epochMillis)) return undefined
    if (hint.epochMillis > lastMoment) return { _tag: "After", millis: Infinity }
    if (hint.epochMillis < -lastMoment) return { _tag: "After", millis: 0 }
  }
  return hint
}

/** Milliseconds from `now`: undefined for "do not retry". */
export const toMillis = (hint: Transience.Hint, now: number): number | undefined => {
  if (hint._tag === "DoNotRetry") return undefined
  if (hint._tag === "After") return hint.millis
  const millis = hint.epochMillis - now
  return millis > longestWait ? Infinity : Math.max(0, millis)
}

const contextOf = (seen: Incoming, { date, now, ownBackoff }: Options): Context => {
  const serverNow = date === false ? now : clockOf(seen, now) ?? now
  return {
    now,
    serverNow,
    ownBackoff: ownBackoff ?? 0,
    at: (epochMillis) => ({ hint: { _tag: "At", epochMillis: epochMillis + now - serverNow } })
  }
}

/**
 * What the clock showed that a date in the response was made by: its `Date`, and the `Age` for which a cache has kept
 * it since (RFC 9111, 5.1).
 */
const clockOf = (seen: Incoming, now: number): number | undefined => {
  const date = seen.header("date")
  const millis = date === undefined ? undefined : httpDate.parse(trim(date), now)
  if (millis === undefined) return undefined
  const age = digits(trim(seen.header("age") ?? ""))
  // As much as the field is to hold (RFC 9111, 1.2.2).
  return millis + Math.min(age ?? 0, 2_147_483_648) * 1000
}

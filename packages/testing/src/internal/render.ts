import * as RetryExhausted from "@reprise/core/RetryExhausted"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { format } from "effect/Formatter"
import type { Attempt, Timeline } from "../Timeline.ts"

/** Of a long run the first and the last attempts are drawn. */
const mostFirst = 30
const mostLast = 5

const longestText = 100

/** In one line, without the control characters that would move or colour it. */
const oneLine = (text: string): string => {
  const line = text.replaceAll(/[\s\u0085]+/g, " ").replaceAll(/\p{Cc}/gu, "")
  // Without half a character at its end.
  return line.length > longestText ? `${line.slice(0, longestText).replace(/[\uD800-\uDBFF]$/, "")}...` : line
}

/** An error by its kind and message; any other value as it is. */
const spellError = (error: unknown): string => {
  if (typeof error !== "object" || error === null) return oneLine(format(error))
  const tag = "_tag" in error && typeof error._tag === "string" ? error._tag : undefined
  if (!(error instanceof Error)) return oneLine(tag ?? format(error))
  return oneLine(error.message === "" ? tag ?? error.name : `${tag ?? error.name}: ${error.message}`)
}

const units = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000], ["ms", 1]] as const

/** Milliseconds in the largest unit that they fill, with up to two decimals. */
const spellTime = (millis: number): string => {
  const [unit, size] = units.find(([, size]) => millis >= size) ?? ["ms", 1]
  return `${Math.round(millis / size * 100) / 100}${unit}`
}

const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? "" : "s"}`

const errorOf = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isFailure(exit) ? spellError(Cause.squash(exit.cause)) : ""

/** The error's own sentence, which is one line and bounded. */
const exhaustion = (exit: Exit.Exit<unknown, unknown>): string => {
  const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  return RetryExhausted.is(error) ? `(${error.reason._tag}): ${error.message}` : ""
}

const marks: Record<Attempt["outcome"], string> = {
  Success: "o",
  Failure: "x",
  Defect: "!",
  Interrupted: "/",
  TimedOut: "t",
  Hanging: "?"
}

const spellOutcome = ({ exit, outcome }: Attempt): string => {
  switch (outcome) {
    case "Success":
      return "succeeded"
    case "Failure":
      return errorOf(exit)
    case "Defect":
      return `died: ${errorOf(exit)}`
    case "Interrupted":
      return "interrupted"
    case "TimedOut":
      return "timed out"
    case "Hanging":
      return "hangs"
  }
}

const spellAttempt = (attempt: Attempt, wait: number | undefined, waited: number | undefined): string => {
  const took = attempt.end === attempt.start ? "" : ` after ${spellTime(attempt.end - attempt.start)}`
  if (wait === undefined) return `${spellOutcome(attempt)}${took}`
  const cut = waited !== undefined && waited < wait ? `${spellTime(waited)} of ` : ""
  return `${spellOutcome(attempt)}${took}, then waited ${cut}${spellTime(wait)}`
}

const spellRun = ({ attempts, elapsed, exit, outcome }: Timeline): string => {
  const effort = `after ${count(attempts.length, "attempt")} in ${spellTime(elapsed)}`
  switch (outcome) {
    case "Success":
      return `Succeeded ${effort}${Exit.isSuccess(exit) ? `: ${oneLine(format(exit.value))}` : ""}`
    case "Failure":
      return `Failed ${effort}: ${errorOf(exit)}`
    case "Exhausted":
      return `Exhausted ${exhaustion(exit)}`
    case "Defect":
      return `Died ${effort}: ${errorOf(exit)}`
    case "Interrupted":
      return `Interrupted ${effort}`
    case "Hanging":
      return `Hanging ${effort}: it waited for what never came`
  }
}

/** One line for each attempt, each where it stands in time, and one for the run. */
export const render = (timeline: Timeline, width: number): string => {
  const { attempts, elapsed, waits } = timeline
  const column = (time: number) => elapsed === 0 ? 0 : Math.round(time / elapsed * (width - 1))
  const numbers = String(attempts.length).length
  const starts = Math.max(0, ...attempts.map(({ start }) => spellTime(start).length))

  const draw = (attempt: Attempt, index: number): string => {
    const { end, number, outcome, start } = attempt
    const next = attempts[index + 1]
    const wait = waits[index]
    const from = column(start)
    const to = column(end)
    const waitEnd = wait === undefined ? to + 1 : next === undefined ? width : column(next.start)
    const bar = " ".repeat(from) + "=".repeat(to - from) + marks[outcome] + ".".repeat(Math.max(0, waitEnd - to - 1))
    const waited = next === undefined ? elapsed - end : undefined
    return `${String(number).padStart(numbers)} |${bar.padEnd(width)}| ` +
      `${spellTime(start).padStart(starts)}  ${spellAttempt(attempt, wait, waited)}`
  }

  const skipped = attempts.length - mostFirst - mostLast
  const rows = attempts.flatMap((attempt, index) => {
    if (skipped <= 1 || index < mostFirst || index >= attempts.length - mostLast) return [draw(attempt, index)]
    return index === mostFirst ? [`${" ".repeat(numbers)} : ${count(skipped, "attempt")} more`] : []
  })
  return [...rows, spellRun(timeline)].join("\n")
}

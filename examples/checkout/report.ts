/**
 * What the run prints: a line that moves, a table, and the totals of the provider's ledger.
 */
import { Transience } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import { Duration, Effect, Predicate, Result, Stdio, Terminal } from "effect"
import { styleText } from "node:util"
import type { Order, Receipt } from "./client.ts"
import type { Statement } from "./ledger.ts"
import type { Rehearsal } from "./rehearsal.ts"

/** How an order ended, as the shop sees it. */
interface Settled {
  readonly order: Order
  readonly waits: ReadonlyArray<{ readonly error: unknown; readonly delay: Duration.Duration }>
  readonly outcome: Result.Result<Receipt, Error>
}

/** The same, with what the provider has in its book. */
interface Line extends Settled {
  readonly attempts: number
  readonly charges: number
}

export const lines = (settled: ReadonlyArray<Settled>, { orders }: Statement): ReadonlyArray<Line> => {
  const charges = new Map(orders.map((entry) => [entry.id, entry.charges]))
  return settled.map((one) => ({ ...one, attempts: one.waits.length + 1, charges: charges.get(one.order.id) ?? 0 }))
}

export const heading = (text: string): string => styleText("bold", text)

const spell = (millis: number): string =>
  millis < 999.5 ? `${Math.round(millis)} ms` : `${(millis / 1000).toFixed(2)} s`

/** On a terminal one line that moves; elsewhere a line at every quarter. */
export const progress = Effect.fnUntraced(function* (total: number) {
  const terminal = yield* Terminal.Terminal
  const live = yield* (yield* Stdio.Stdio).stdoutIsTerminal
  let settled = 0

  const moved = (n: number, { retries }: Statement): string => {
    const done = `${n} of ${total} orders settled, retries: ${retries}`
    if (!live) return n % (total / 4) === 0 ? `  ${done}\n` : ""
    const bar = "█".repeat(n / 2).padEnd(total / 2, "░")
    return n < total ? `\r\u001b[2K  ${bar} ${done}` : "\r\u001b[2K"
  }
  return <R>(book: Effect.Effect<Statement, unknown, R>) =>
    Effect.suspend(() => {
      const n = ++settled
      // A provider that cannot be asked now is asked after the next order.
      return Effect.ignore(Effect.flatMap(book, (_) => terminal.display(moved(n, _))))
    })
})

const tag = (error: unknown): string => Predicate.hasProperty(error, "_tag") ? String(error._tag) : "error"

/** A status, a system code, or the tag. */
const cause = (error: unknown): string =>
  error instanceof HttpRetry.ResponseError ? String(error.status) : Transience.classify(error).code ?? tag(error)

/** What each wait came after; equal errors in a row are named once. */
const story = (waits: Line["waits"]): string =>
  waits.map(({ delay, error }, index) => {
    const wait = spell(Duration.toMillis(delay))
    return index > 0 && cause(error) === cause(waits[index - 1]?.error)
      ? `, ${wait}`
      : `${index === 0 ? "" : "; "}${cause(error)}: ${wait}`
  }).join("")

const outcome = ({ charges, outcome }: Line): string => {
  if (charges > 1) return styleText("red", `charged ${charges} times`)
  if (Result.isSuccess(outcome)) return styleText("green", "charged")
  const { failure } = outcome
  switch (tag(failure)) {
    case "CardDeclined":
      return `declined: ${failure.message}`
    case "InvalidOrder":
      return `invalid: ${failure.message}`
    default:
      return styleText("yellow", charges === 1 ? "given up, and charged" : "given up")
  }
}

const notable = (line: Line): boolean => line.attempts > 1 || line.charges !== 1 || Result.isFailure(line.outcome)

/** The orders that something happened to, and how many others there are. */
export const table = (lines: ReadonlyArray<Line>): string => {
  const rows = lines.filter(notable).map((line) => ({
    order: line.order.id,
    attempts: String(line.attempts),
    waits: story(line.waits) || "–",
    outcome: outcome(line)
  }))
  const width = Math.max(5, ...rows.map((_) => _.waits.length))
  const print = (order: string, attempts: string, waits: string, outcome: string) =>
    `  ${order.padEnd(5)}  ${attempts.padStart(8)}  ${waits.padEnd(width)}  ${outcome}`
  const uneventful = lines.length - rows.length
  return [
    heading(
      `${rows.length} of ${lines.length} orders, those with a story; charged at the first attempt: the other ${uneventful}`
    ),
    styleText("dim", print("order", "attempts", "waits", "outcome")),
    ...rows.map((_) => print(_.order, _.attempts, _.waits, _.outcome))
  ].join("\n")
}

/** What those who gave up had to say. */
export const exhaustions = (lines: ReadonlyArray<Line>): ReadonlyArray<string> =>
  lines.flatMap(({ order, outcome }) =>
    Result.isFailure(outcome) && tag(outcome.failure) === "RetryExhausted"
      ? [`  ${order.id}  ${outcome.failure.message}`]
      : []
  )

const counts = (list: Statement["faults"] | Statement["refusals"]): string =>
  list.map(({ times, what }) => `${times} × ${what}`).join(", ")

const doubleCharges = (n: number): string => styleText(n === 0 ? "green" : "red", `double charges: ${n}`)

export const totals = (_: Statement): string =>
  [
    heading("The provider's ledger"),
    `  orders: ${_.orders.length} = ${_.charged} charged + ${_.declined} declined + ${_.invalid} invalid + ${_.givenUp} given up`,
    `  requests: ${_.requests}, of which retries: ${_.retries}`,
    `  faults: ${counts(_.faults)}`,
    `  refusals: ${counts(_.refusals)}`,
    `  ${doubleCharges(_.doubleCharges)}`
  ].join("\n")

const settled: Readonly<Record<Statement["doubts"][number]["what"], string>> = {
  "in doubt, was charged": "the ledger has the charge: its receipt is the answer",
  "in doubt, was not charged": "the ledger has none: charged now, once"
}

/** What came of the charges that a killed provider was at. */
export const settlement = ({ doubts, doubleCharges: twice }: Statement, what: string): string =>
  [
    heading(`${what}; in doubt: ${doubts.length} ${doubts.length === 1 ? "order" : "orders"}`),
    ...doubts.map(({ order, what }) => `  ${order}  ${settled[what]}`),
    `  ${doubleCharges(twice)}`
  ].join("\n")

/** What a shop knows by itself, when its provider does not answer any more. */
export const known = (settled: ReadonlyArray<Settled>): string => {
  const charged = settled.filter(({ outcome }) => Result.isSuccess(outcome)).length
  return `The shop knows of ${charged} orders that they are charged, and has no answer for ${settled.length - charged}.`
}

/** What a provider says that runs alone. */
export const opening = (url: string, seed: number): string =>
  [
    heading("A payment provider that misbehaves, until Ctrl-C"),
    `  provider  ${url}, seed ${seed}`,
    `  shop      npm start -- --at ${url}`
  ].join("\n")

export const interruption = (_: Statement): string =>
  `\n\nInterrupted after ${_.requests} requests: ${_.charged} orders charged, ${doubleCharges(_.doubleCharges)}`

/** Many runs of the policy, and whether every wait lies within its bounds. */
export const rehearsal = ({ retries, runs, took }: Rehearsal): string => {
  const range = (list: ReadonlyArray<number>) => `${spell(Math.min(...list))} to ${spell(Math.max(...list))}`
  const all = retries.flatMap(({ waits }) => waits)
  const within = retries.flatMap(({ highest, lowest, waits }) =>
    waits.filter((wait) => wait >= lowest && wait <= highest)
  )
  const print = (retry: string, after: string, drawn: string, allowed: string) =>
    `  ${retry.padEnd(5)}  ${after.padEnd(14)}  ${drawn.padEnd(16)}  ${allowed}`
  const minutes = all.reduce((sum, wait) => sum + wait, 0) / 60_000
  return [
    heading(`The same policy in virtual time, ${runs} runs`),
    styleText("dim", print("retry", "after", "waits", "bounds of the policy")),
    ...retries.map(({ after, highest, lowest, waits }, index) =>
      print(String(index + 1), after, range(waits), range([lowest, highest]))
    ),
    styleText(
      within.length === all.length ? "green" : "red",
      `  ${within.length} of ${all.length} waits lie within the policy's bounds`
    ) + `: ${minutes.toFixed(1)} minutes of waiting in ${spell(took)}`
  ].join("\n")
}

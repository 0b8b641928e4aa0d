/**
 * The client of the checkout in virtual time: many runs of minutes, in a moment, and whether every wait lies between
 * the shortest and the longest that the policy can give.
 */
import { Script, Timeline } from "@reprise/testing"
import { Clock, Effect } from "effect"
import { HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { keyed, retrying } from "./client.ts"

const runs = 100

const order = { id: "1", item: "a rehearsal", amount: 100, currency: "EUR", card: "visa_1111" }
const request = keyed("http://provider.example", order)

const answer = (status: number, headers: Readonly<Record<string, string>> = {}) => Script.succeed({ status, headers })

const lost = Script.fail(
  new HttpClientError.HttpClientError({
    reason: new HttpClientError.TransportError({
      request: HttpClientRequest.get("http://provider.example"),
      cause: Object.assign(new Error("rehearsed"), { code: "ECONNRESET" })
    })
  })
)

/** One failure of each kind, and one more. */
const failures = [
  { after: "ECONNRESET", outcome: lost },
  { after: "429", outcome: answer(429, { "retry-after": "1" }) },
  { after: "503", outcome: answer(503) },
  { after: "503", outcome: answer(503) }
]

const provider = Script.make([...failures.map(({ outcome }) => outcome), answer(200)])

/** The client that the shop has, over a provider that follows the script. */
const charge = (send: typeof provider) =>
  retrying(
    HttpClient.make((request) =>
      Effect.map(send, (answer) => HttpClientResponse.fromWeb(request, new Response(null, answer)))
    )
  ).execute(request)

const waits = (conditions: Timeline.Conditions): Effect.Effect<ReadonlyArray<number>> =>
  Effect.map(Timeline.recordWith(provider, charge, conditions), (timeline) => timeline.waits)

interface Retry {
  readonly after: string
  /** The bounds of its wait, with chance nailed to either end. */
  readonly lowest: number
  readonly highest: number
  /** Its wait in each run. */
  readonly waits: ReadonlyArray<number>
}

export interface Rehearsal {
  readonly runs: number
  readonly retries: ReadonlyArray<Retry>
  /** Milliseconds that it took. */
  readonly took: number
}

export const rehearse: Effect.Effect<Rehearsal> = Effect.gen(function* () {
  const start = yield* Clock.currentTimeMillis
  const drawn = yield* Effect.forEach(Array.from({ length: runs }, (_, seed) => seed), (seed) => waits({ seed }))
  const end = yield* Clock.currentTimeMillis
  const lowest = yield* waits({ random: "lowest" })
  const highest = yield* waits({ random: "highest" })
  const retries = failures.map(({ after }, index) => ({
    after,
    lowest: lowest[index]!,
    highest: highest[index]!,
    waits: drawn.map((waits) => waits[index]!)
  }))
  return { runs, retries, took: end - start }
})

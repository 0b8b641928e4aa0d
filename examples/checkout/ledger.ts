/**
 * The provider's own book: what arrived, what was charged, what was refused. The totals of both runs are read from it. It
 * is a database, and outlives a provider that is killed.
 */
import { Idempotency } from "@reprise/idempotency"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { SqlClient } from "effect/sql"
import { ProviderUrl, type Receipt } from "./client.ts"
import { type Fault, faults } from "./faults.ts"

const refusals = ["402 card declined", "422 malformed"] as const

/** What the provider found when it asked the book about a charge that it did not see to its end. */
const doubts = ["in doubt, was charged", "in doubt, was not charged"] as const

type Event = "request" | "charge" | "asked" | typeof refusals[number] | typeof doubts[number] | Fault

/** What the book comes to, as it travels from the provider to the shop. */
export const Statement = Schema.Struct({
  requests: Schema.Int,
  charged: Schema.Int,
  declined: Schema.Int,
  invalid: Schema.Int,
  givenUp: Schema.Int,
  retries: Schema.Int,
  doubleCharges: Schema.Int,
  faults: Schema.Array(Schema.Struct({ what: Schema.Literals(faults), times: Schema.Int })),
  refusals: Schema.Array(Schema.Struct({ what: Schema.Literals(refusals), times: Schema.Int })),
  doubts: Schema.Array(Schema.Struct({ order: Schema.String, what: Schema.Literals(doubts) })),
  orders: Schema.Array(Schema.Struct({ id: Schema.String, requests: Schema.Int, charges: Schema.Int }))
})
export type Statement = typeof Statement.Type

/** The same, as the shop gets it. */
export const statement = Effect.gen(function* () {
  const client = yield* HttpClient.HttpClient
  const url = yield* ProviderUrl
  return yield* Effect.flatMap(client.get(`${url}/ledger`), HttpClientResponse.schemaBodyJson(Statement))
})

export class Ledger extends Context.Service<Ledger, {
  readonly note: (order: string, event: Event) => Effect.Effect<void>
  /** How often something happened to an order. */
  readonly count: (order: string, event: Event) => Effect.Effect<number>
  /** Takes the money, unless a later claim on the same key has written by now: its holder was frozen, and comes too late. */
  readonly charge: (order: string, amount: number) => Effect.Effect<Receipt>
  /** Of an order that was charged. */
  readonly receipt: (order: string) => Effect.Effect<Receipt | undefined>
  readonly statement: Effect.Effect<Statement>
}>()("examples/checkout/Ledger") {
  static readonly layer = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE IF NOT EXISTS entries (
        id INTEGER PRIMARY KEY, "order" TEXT, event TEXT, amount INTEGER, fence INTEGER
      )`

      const write = Effect.fnUntraced(function* (order: string, event: Event, amount: number | null) {
        const { fence } = (yield* Idempotency.CurrentClaim) ?? { fence: null }
        return yield* sql<{ id: number }>`
          INSERT INTO entries ("order", event, amount, fence) SELECT ${order}, ${event}, ${amount}, ${fence}
          WHERE NOT EXISTS (SELECT 1 FROM entries WHERE "order" = ${order} AND fence > ${fence}) RETURNING id
        `
      }, Effect.orDie)

      const receiptOf = (entry: { readonly id: number; readonly amount: number }, order: string): Receipt => ({
        id: `ch_${entry.id}`,
        order,
        amount: entry.amount
      })

      return Ledger.of({
        note: (order, event) => Effect.asVoid(write(order, event, null)),
        count: (order, event) =>
          sql<{ n: number }>`SELECT count(*) AS n FROM entries WHERE "order" = ${order} AND event = ${event}`.pipe(
            Effect.map(([row]) => row?.n ?? 0),
            Effect.orDie
          ),
        charge: (order, amount) =>
          Effect.flatMap(write(order, "charge", amount), ([row]) =>
            row === undefined
              ? Effect.die(new Error("The claim on this charge is not the last one"))
              : Effect.succeed(receiptOf({ id: row.id, amount }, order))),
        receipt: (order) =>
          sql<{ id: number; amount: number }>`
            SELECT id, amount FROM entries WHERE "order" = ${order} AND event = 'charge'
          `.pipe(
            Effect.map(([row]) => row && receiptOf(row, order)),
            Effect.orDie
          ),
        statement: sql<Entry>`SELECT "order", event FROM entries ORDER BY id`.pipe(Effect.map(stated), Effect.orDie)
      })
    })
  )
}

interface Entry {
  readonly order: string
  readonly event: Event
}

const stated = (entries: ReadonlyArray<Entry>): Statement => {
  const times = (event: Event) => entries.filter((_) => _.event === event).length
  const count = (order: string, event: Event) => entries.filter((_) => _.order === order && _.event === event).length
  const orders = (...events: ReadonlyArray<Event>) => [
    ...new Set(entries.filter((_) => events.includes(_.event)).map((_) => _.order))
  ]
  const asked = orders("request")
  const charged = orders("charge").length
  return {
    requests: times("request"),
    charged,
    declined: orders("402 card declined").length,
    invalid: orders("422 malformed").length,
    givenUp: asked.length - orders("charge", ...refusals).length,
    retries: times("request") - asked.length,
    doubleCharges: times("charge") - charged,
    faults: faults.map((what) => ({ what, times: times(what) })),
    refusals: refusals.map((what) => ({ what, times: times(what) })),
    doubts: doubts.flatMap((what) => orders(what).map((order) => ({ order, what }))),
    orders: asked.map((id) => ({ id, requests: count(id, "request"), charges: count(id, "charge") }))
  }
}

/**
 * The provider's own book: what arrived, what was charged, what was refused. The totals of both runs are read from it.
 */
import { Context, Layer, Schema } from "effect"
import type { Receipt } from "./client.ts"
import { type Fault, faults } from "./faults.ts"

const refusals = ["402 card declined", "422 malformed"] as const

type Refusal = typeof refusals[number]

type Event = "request" | "charge" | Refusal | Fault

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
  orders: Schema.Array(Schema.Struct({ id: Schema.String, requests: Schema.Int, charges: Schema.Int }))
})
export type Statement = typeof Statement.Type

export class Ledger extends Context.Service<Ledger, {
  readonly note: (order: string, event: Event) => void
  /** How often something happened to an order. */
  readonly count: (order: string, event: Event) => number
  /** Takes the money, unless the key says that it has been taken. */
  readonly charge: (order: string, amount: number, key: string | undefined) => Receipt
  readonly statement: () => Statement
}>()("examples/checkout/Ledger") {
  static readonly layer = Layer.sync(Ledger, () => {
    const entries: Array<{ readonly order: string; readonly event: Event }> = []
    const receipts = new Map<string, Receipt>()

    const times = (event: Event) => entries.filter((_) => _.event === event).length
    const count = (order: string, event: Event) => entries.filter((_) => _.order === order && _.event === event).length
    const orders = (...events: ReadonlyArray<Event>) => [
      ...new Set(entries.filter((_) => events.includes(_.event)).map((_) => _.order))
    ]

    return Ledger.of({
      note: (order, event) => {
        entries.push({ order, event })
      },
      count,
      charge: (order, amount, key) => {
        const known = key === undefined ? undefined : receipts.get(key)
        if (known !== undefined) return known
        entries.push({ order, event: "charge" })
        const receipt = { id: `ch_${times("charge")}`, order, amount }
        if (key !== undefined) receipts.set(key, receipt)
        return receipt
      },
      statement: () => {
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
          orders: asked.map((id) => ({ id, requests: count(id, "request"), charges: count(id, "charge") }))
        }
      }
    })
  })
}

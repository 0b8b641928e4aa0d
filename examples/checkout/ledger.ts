/**
 * The provider's own book: what arrived, what was charged, what was refused. The totals of both runs are read from it.
 */
import { Context, Layer } from "effect"
import type { Receipt } from "./client.ts"
import { type Fault, faults } from "./faults.ts"

const refusals = ["402 card declined", "422 malformed"] as const

type Refusal = typeof refusals[number]

type Event = "request" | "charge" | Refusal | Fault

export interface Totals {
  readonly requests: number
  readonly orders: number
  readonly charged: number
  readonly declined: number
  readonly invalid: number
  readonly givenUp: number
  readonly retries: number
  readonly doubleCharges: number
  readonly faults: ReadonlyArray<readonly [fault: Fault, times: number]>
  readonly refusals: ReadonlyArray<readonly [refusal: Refusal, times: number]>
}

export class Ledger extends Context.Service<Ledger, {
  readonly note: (order: string, event: Event) => void
  /** How often something happened to an order. */
  readonly count: (order: string, event: Event) => number
  /** Takes the money, unless the key says that it has been taken. */
  readonly charge: (order: string, amount: number, key: string | undefined) => Receipt
  readonly totals: () => Totals
}>()("examples/checkout/Ledger") {
  static readonly layer = Layer.sync(Ledger, () => {
    const entries: Array<{ readonly order: string; readonly event: Event }> = []
    const receipts = new Map<string, Receipt>()

    const times = (event: Event) => entries.filter((_) => _.event === event).length
    const orders = (...events: ReadonlyArray<Event>) =>
      new Set(entries.filter((_) => events.includes(_.event)).map((_) => _.order)).size

    return Ledger.of({
      note: (order, event) => {
        entries.push({ order, event })
      },
      count: (order, event) => entries.filter((_) => _.order === order && _.event === event).length,
      charge: (order, amount, key) => {
        const known = key === undefined ? undefined : receipts.get(key)
        if (known !== undefined) return known
        entries.push({ order, event: "charge" })
        const receipt = { id: `ch_${times("charge")}`, order, amount }
        if (key !== undefined) receipts.set(key, receipt)
        return receipt
      },
      totals: () => ({
        requests: times("request"),
        orders: orders("request"),
        charged: orders("charge"),
        declined: orders("402 card declined"),
        invalid: orders("422 malformed"),
        givenUp: orders("request") - orders("charge", ...refusals),
        retries: times("request") - orders("request"),
        doubleCharges: times("charge") - orders("charge"),
        faults: faults.map((fault) => [fault, times(fault)]),
        refusals: refusals.map((refusal) => [refusal, times(refusal)])
      })
    })
  })
}

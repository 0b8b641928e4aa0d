/**
 * What will go wrong, dealt before it does.
 *
 * The seed decides which orders are hit, the deck decides with what. A fault belongs to an order and to the number of
 * its request, so neither concurrency nor timing changes anything.
 */
import { Context, Effect, Layer, Random } from "effect"
import type { Order } from "./client.ts"

export const faults = ["slow reply", "503", "429", "reset before the charge", "reset after the charge"] as const

export type Fault = typeof faults[number]

const deck: ReadonlyArray<ReadonlyArray<Fault>> = [
  ["slow reply"],
  ["slow reply"],
  ["slow reply"],
  ["reset after the charge"],
  ["reset after the charge"],
  ["reset after the charge"],
  ["503"],
  ["503"],
  ["429"],
  ["429"],
  ["reset before the charge"],
  ["reset before the charge"],
  ["503", "slow reply"],
  ["429", "reset after the charge"],
  ["reset before the charge", "503"],
  ["slow reply", "reset after the charge"],
  // Longer than anybody's patience.
  Array.from({ length: 50 }, () => "503")
]

export class Faults extends Context.Service<Faults, {
  /** What befalls the n-th request of an order; the first is 1. */
  readonly at: (order: string, n: number) => Fault | undefined
}>()("examples/checkout/Faults") {
  static readonly layer = (orders: ReadonlyArray<Order>, seed: number) =>
    Layer.effect(
      Faults,
      Effect.gen(function* () {
        const shuffled = yield* Random.shuffle(orders).pipe(Random.withSeed(seed))
        const dealt = new Map(deck.map((hand, index) => [shuffled[index]?.id, hand]))
        return Faults.of({ at: (order, n) => dealt.get(order)?.[n - 1] })
      })
    )
}

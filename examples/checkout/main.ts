/**
 * Charges 60 orders at a payment provider that misbehaves: `npm start`, `npm start -- --naive`.
 */
import { NodeHttpClient, NodeRuntime, NodeServices } from "@effect/platform-node"
import { Policy, type Retry } from "@reprise/core"
import { Console, Data, Duration, Effect, Layer, Runtime, Schema, Stdio } from "effect"
import { HttpServer } from "effect/http"
import { parseArgs } from "node:util"
import { attemptTimeout, Order, Payments, policy, ProviderUrl } from "./client.ts"
import { Faults } from "./faults.ts"
import { Ledger } from "./ledger.ts"
import * as Naive from "./naive.ts"
import json from "./orders.json" with { type: "json" }
import * as Provider from "./provider.ts"
import { rehearse } from "./rehearsal.ts"
import * as Report from "./report.ts"

const concurrency = 8

const usage = `Usage: npm start -- [--naive] [--seed N]

  --naive   retry everything at once and without a key, to see the harm
  --seed N  another script of faults, a whole number (default 1)`

class BadArguments extends Data.TaggedError("BadArguments")<{ readonly message: string }> {
  override readonly [Runtime.errorExitCode] = 2
  override readonly [Runtime.errorReported] = false
}

const readArguments = Effect.gen(function* () {
  const args = yield* (yield* Stdio.Stdio).args
  const { values } = yield* Effect.try({
    try: () =>
      parseArgs({
        args: [...args],
        options: { naive: { type: "boolean" }, seed: { type: "string" }, help: { type: "boolean" } }
      }),
    catch: (error) => new BadArguments({ message: error instanceof Error ? error.message : String(error) })
  })
  const { help = false, naive = false, seed = "1" } = values
  if (!/^\d{1,9}$/.test(seed)) {
    return yield* new BadArguments({ message: `--seed wants a whole number of at most 9 digits, not "${seed}".` })
  }
  return { help, naive, seed: Number(seed) }
})

const introduction = (naive: boolean, seed: number, url: string) =>
  [
    Report.heading(`60 orders, ${concurrency} at a time, at a payment provider that misbehaves`),
    `  provider  ${url}, seed ${seed}`,
    `  timeout   ${Duration.format(attemptTimeout)} for each attempt, then the next one`,
    ...(naive
      ? [
        `  policy    none: whatever fails is sent again at once, up to ${Naive.attempts} attempts`,
        "  key       none: to the provider a retry is another order"
      ]
      : [
        `  policy    ${Policy.format(policy)}`,
        `            ${Policy.describe(policy).replaceAll("; ", ";\n            ")}`,
        "  key       one for each order, the same in every attempt"
      ])
  ].join("\n")

const checkout = Effect.fn("checkout")(function* (orders: ReadonlyArray<Order>, naive: boolean) {
  const ledger = yield* Ledger
  const payments = yield* Payments
  const progress = yield* Report.progress(orders.length)

  const settle = Effect.fnUntraced(function* (order: Order) {
    const waits: Array<Retry.RetryEvent> = []
    const onRetry = (event: Retry.RetryEvent) => Effect.sync(() => void waits.push(event))
    const outcome = naive
      ? yield* Effect.result(Naive.charge(order))
      : yield* Effect.result(payments.charge(order, onRetry))
    yield* progress(ledger.totals())
    const { id } = order
    return { order, attempts: ledger.count(id, "request"), charges: ledger.count(id, "charge"), waits, outcome }
  })

  const lines = yield* Effect.forEach(orders, settle, { concurrency })
  yield* Console.log(`\n${Report.table(lines)}\n`)
  for (const message of Report.exhaustions(lines)) yield* Console.log(`${message}\n`)
  yield* Console.log(`${Report.totals(ledger.totals())}\n`)
})

const program = Effect.gen(function* () {
  const { help, naive, seed } = yield* readArguments
  if (help) return yield* Console.log(usage)
  const orders = yield* Schema.decodeUnknownEffect(Schema.Array(Order))(json)

  const ProviderLive = Provider.layer.pipe(
    Layer.provide(Faults.layer(orders, seed)),
    Layer.provideMerge(Ledger.layer)
  )
  const ProviderUrlLive = Layer.effect(ProviderUrl, HttpServer.addressFormattedWith(Effect.succeed))
  const Live = Payments.layer.pipe(
    Layer.provide(NodeHttpClient.layerUndici),
    Layer.provideMerge(ProviderUrlLive),
    Layer.provideMerge(ProviderLive)
  )

  const run = Effect.gen(function* () {
    yield* Console.log(`${introduction(naive, seed, yield* ProviderUrl)}\n`)
    const { totals } = yield* Ledger
    yield* checkout(orders, naive).pipe(
      Effect.onInterrupt(() => Console.log(Report.interruption(totals())))
    )
  })
  yield* Effect.provide(run, Live)
  if (naive) return yield* Console.log("The same orders under a policy and with keys: npm start")
  yield* Console.log(`${Report.rehearsal(yield* rehearse)}\n`)
  yield* Console.log("What a plain loop does instead: npm start -- --naive")
})

program.pipe(
  Effect.tapErrorTag("BadArguments", ({ message }) => Console.error(`${message}\n\n${usage}`)),
  Effect.provide(NodeServices.layer),
  NodeRuntime.runMain
)

/**
 * Charges 60 orders at a payment provider that misbehaves: `npm start`, `npm start -- --naive`.
 */
import { NodeHttpClient, NodeRuntime, NodeServices } from "@effect/platform-node"
import { Policy, Retry, Transience } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import { SqliteClient } from "@reprise/sqlite"
import { Console, Data, Duration, Effect, Layer, Runtime, Schema } from "effect"
import { HttpServer } from "effect/http"
import { BadArguments, readArguments, usage } from "./arguments.ts"
import { attemptTimeout, Order, patient, Payments, policy, ProviderUrl } from "./client.ts"
import { Faults } from "./faults.ts"
import * as Kill from "./kill.ts"
import { Ledger, statement } from "./ledger.ts"
import * as Naive from "./naive.ts"
import json from "./orders.json" with { type: "json" }
import * as Provider from "./provider.ts"
import { rehearse } from "./rehearsal.ts"
import * as Report from "./report.ts"

const concurrency = 8

const policies = { policy, patient }

/** How the shop asks for its money. */
type Manner = "naive" | "policy" | "patient"

const introduction = (manner: Manner, provider: string) =>
  [
    Report.heading(`60 orders, ${concurrency} at a time, at a payment provider that misbehaves`),
    `  provider  ${provider}`,
    `  timeout   ${Duration.format(attemptTimeout)} for each attempt, then the next one`,
    ...(manner === "naive"
      ? [
        `  policy    none: whatever fails is sent again at once, up to ${Naive.attempts} attempts`,
        "  key       none: to the provider a retry is another order"
      ]
      : [
        `  policy    ${Policy.format(policies[manner])}`,
        `            ${Policy.describe(policies[manner]).replaceAll("; ", ";\n            ")}`,
        "  key       one for each order, the same in every attempt"
      ])
  ].join("\n")

const checkout = Effect.fn("checkout")(function* (orders: ReadonlyArray<Order>) {
  const payments = yield* Payments
  const progress = yield* Report.progress(orders.length)

  const settle = Effect.fnUntraced(function* (order: Order) {
    const waits: Array<Retry.RetryEvent> = []
    const outcome = yield* payments.charge(order).pipe(
      // The client is the same for all orders; whom it tells of a retry is not.
      HttpRetry.withOptions({ onRetry: (event) => Effect.sync(() => void waits.push(event)) }),
      Effect.result
    )
    yield* progress(statement)
    return { order, waits, outcome }
  })

  const settled = yield* Effect.forEach(orders, settle, { concurrency })
  const url = yield* ProviderUrl
  const book = yield* statement.pipe(
    Retry.run(Policy.whileInput(patient, Transience.isTransient), { name: "ledger" }),
    Effect.mapError(() =>
      new Gone({
        message: `\nThe provider at ${url} does not answer any more. ${Report.known(settled)}\n`
          + "Start it again on its ledger, and the shop after it: nothing is charged twice."
      })
    )
  )
  const lines = Report.lines(settled, book)
  yield* Console.log(`\n${Report.table(lines)}\n`)
  for (const message of Report.exhaustions(lines)) yield* Console.log(`${message}\n`)
  yield* Console.log(`${Report.totals(book)}\n`)
  return book
})

/** The provider has gone for good. */
class Gone extends Data.TaggedError("Gone")<{ readonly message: string }> {
  override readonly [Runtime.errorReported] = false
}

/** The shop, at the provider that the context names. */
const shop = Effect.fn("shop")(function* (orders: ReadonlyArray<Order>, manner: Manner, origin: string) {
  const url = yield* ProviderUrl
  // Once, and before anything else, rather than sixty times.
  yield* Effect.mapError(
    statement,
    () => new BadArguments({ message: `No provider answers at ${url}. Start one: npm start -- --provider` })
  )
  yield* Console.log(`${introduction(manner, `${url}, ${origin}`)}\n`)
  return yield* checkout(orders).pipe(
    Effect.provide(manner === "naive" ? Naive.layer : Payments.layer(policies[manner])),
    Effect.onInterrupt(() => Effect.ignore(Effect.flatMap(statement, (_) => Console.log(Report.interruption(_)))))
  )
})

/** What there is to see besides. */
const epilogue = Effect.fn("epilogue")(function* (manner: Manner) {
  if (manner === "naive") return yield* Console.log("The same orders under a policy and with keys: npm start")
  yield* Console.log(`${Report.rehearsal(yield* rehearse)}\n`)
  yield* Console.log("What a plain loop does instead: npm start -- --naive")
})

/** The provider alone. It outlives the shops that come and go, and so does its book. */
const serve = Effect.fn("serve")(function* (seed: number) {
  const { statement } = yield* Ledger
  yield* Console.log(Report.opening(yield* ProviderUrl, seed))
  return yield* Effect.onInterrupt(
    Effect.never,
    () => Effect.flatMap(statement, (book) => Console.log(`\n${Report.totals(book)}`))
  )
})

const reason = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const program = Effect.gen(function* () {
  const { at, help, kill, ledger, naive, port, provider, seed } = yield* readArguments
  if (help) return yield* Console.log(usage)
  const orders = yield* Schema.decodeUnknownEffect(Schema.Array(Order))(json)

  const ProviderLive = Layer.effect(ProviderUrl, HttpServer.addressFormattedWith(Effect.succeed)).pipe(
    Layer.provideMerge(Provider.layer(port)),
    Layer.provide(Faults.layer(orders, seed)),
    Layer.provideMerge(Ledger.layer),
    Layer.provide(SqliteClient.layer({ filename: ledger }))
  )
  if (provider) {
    return yield* Effect.provide(serve(seed), ProviderLive).pipe(
      Effect.catchTags({
        ServeError: ({ cause }) => new BadArguments({ message: `No provider at port ${port}: ${reason(cause)}` }),
        SqlError: ({ message }) => new BadArguments({ message })
      })
    )
  }
  if (kill) {
    const { book, killedAt } = yield* Kill.during(seed, shop(orders, "patient", `seed ${seed}, which will be killed`))
    const what = `Killed after ${killedAt} charges (SIGKILL), and started again`
    return yield* Console.log(Report.settlement(book, what))
  }
  if (at !== undefined) {
    // Whoever has a process of his own may kill it.
    const alone = shop(orders, naive ? "naive" : "patient", "a process of its own")
    const book = yield* Effect.provideService(alone, ProviderUrl, at)
    if (book.doubts.length === 0) return
    return yield* Console.log(Report.settlement(book, "The provider died in the middle, and was started again"))
  }
  const manner = naive ? "naive" : "policy"
  yield* Effect.provide(shop(orders, manner, `seed ${seed}`), ProviderLive)
  yield* epilogue(manner)
})

program.pipe(
  Effect.tapErrorTag("BadArguments", ({ message }) => Console.error(`${message}\n\n${usage}`)),
  Effect.tapErrorTag(["NoProvider", "Gone"], ({ message }) => Console.error(message)),
  Effect.scoped,
  Effect.provide([NodeServices.layer, NodeHttpClient.layerUndici]),
  NodeRuntime.runMain
)

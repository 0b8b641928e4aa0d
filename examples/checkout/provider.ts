/**
 * A payment provider on loopback that misbehaves. It charges once for each key, whatever happens: also when it is killed.
 */
import { NodeHttpServer, NodeHttpServerRequest } from "@effect/platform-node"
import { HttpIdempotency, Idempotency, IdempotencyStore } from "@reprise/idempotency"
import { Duration, Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { Faults } from "./faults.ts"
import { Ledger } from "./ledger.ts"

/** Long past the client's attempt timeout, also on a machine that is busy. */
const slowReply = "3 seconds"

/** What the card's bank takes, before the money moves and after. */
const bank = "40 millis"

const Payment = Schema.Struct({
  amount: Schema.Int.check(Schema.isGreaterThan(0, { expected: "a positive amount" })),
  currency: Schema.String.check(Schema.isPattern(/^[A-Z]{3}$/, { expected: "an ISO 4217 currency" })),
  card: Schema.String.check(Schema.isNonEmpty({ expected: "a card" }))
})

/** By the last digits, as of the card numbers that payment providers publish for tests. */
const declined: Readonly<Record<string, string>> = {
  "0002": "do not honor",
  "0069": "expired card",
  "9995": "insufficient funds"
}

const refusal = (status: number, error: string, headers: Readonly<Record<string, string>> = {}) =>
  HttpServerResponse.jsonUnsafe({ error }, { status, headers })

const orderOf = Effect.map(
  Effect.orDie(HttpRouter.schemaPathParams(Schema.Struct({ order: Schema.String }))),
  ({ order }) => order
)

/** What an undisturbed provider does. It knows nothing of keys. */
const settle = Effect.gen(function* () {
  const ledger = yield* Ledger
  const order = yield* orderOf
  const payment = yield* HttpServerRequest.schemaBodyJson(Payment).pipe(Effect.result)
  if (payment._tag === "Failure") {
    yield* ledger.note(order, "422 malformed")
    return refusal(422, payment.failure.message.replace(/\s+/g, " "))
  }
  const { amount, card } = payment.success
  const reason = declined[card.slice(-4)]
  if (reason !== undefined) {
    yield* ledger.note(order, "402 card declined")
    return refusal(402, reason)
  }
  yield* Effect.sleep(bank)
  const receipt = yield* ledger.charge(order, amount)
  yield* Effect.sleep(bank)
  return HttpServerResponse.jsonUnsafe(receipt)
})

/** What came of a charge whose process died in the middle: the book says, which takes nothing more of it once it is asked. */
const reconcile = Effect.fn("Provider.reconcile")(function* (ledger: Ledger["Service"]) {
  const order = yield* orderOf
  yield* ledger.note(order, "asked")
  const receipt = yield* ledger.receipt(order)
  yield* ledger.note(order, receipt === undefined ? "in doubt, was not charged" : "in doubt, was charged")
  return receipt === undefined
    ? Idempotency.notApplied
    : Idempotency.succeeded(HttpServerResponse.jsonUnsafe(receipt))
})

const idempotency = HttpIdempotency.router(Effect.map(Ledger, (ledger) => ({
  // One shop. With several, this is whose token the request has.
  scope: Effect.succeed("the shop"),
  // Whoever sends no key is charged as often as asked.
  required: false,
  reconcile: reconcile(ledger),
  // So long after its last sign is a provider known to be dead.
  lease: Duration.seconds(1)
})))

/** The connection is gone, and this request with it. */
const reset = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
  Effect.andThen(
    Effect.sync(() => NodeHttpServerRequest.toIncomingMessage(request).socket.resetAndDestroy()),
    Effect.never
  ))

/** What befalls requests and answers on their way. */
const misbehaving = HttpRouter.middleware(Effect.gen(function* () {
  const faults = yield* Faults
  const ledger = yield* Ledger
  return Effect.fnUntraced(function* (app) {
    const order = yield* orderOf

    yield* ledger.note(order, "request")
    const fault = faults.at(order, yield* ledger.count(order, "request"))
    if (fault !== undefined) yield* ledger.note(order, fault)

    if (fault === "503") return refusal(503, "overloaded")
    if (fault === "429") return refusal(429, "too many requests", { "retry-after": "1" })
    if (fault === "reset before the charge") return yield* reset
    const answer = yield* app
    if (fault === "reset after the charge") return yield* reset
    if (fault === "slow reply") yield* Effect.sleep(slowReply)
    return answer
  })
}))

const charges = Layer.provide(
  HttpRouter.add("POST", "/charges/:order", settle),
  idempotency.combine(misbehaving).layer
)

/** The book is open to everybody: the shop reads its totals there, and so do the tests. */
const book = HttpRouter.add(
  "GET",
  "/ledger",
  Effect.flatMap(Ledger, ({ statement }) => Effect.map(statement, (book) => HttpServerResponse.jsonUnsafe(book)))
)

/** The provider, at a port; 0 is a free one. */
export const layer = (port: number) =>
  HttpRouter.serve(Layer.mergeAll(charges, book), { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(IdempotencyStore.layerSql()),
    Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port }))
  )

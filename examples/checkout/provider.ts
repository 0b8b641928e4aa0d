/**
 * A payment provider on loopback that misbehaves. It takes no second charge for a key that it knows.
 */
import { NodeHttpServer, NodeHttpServerRequest } from "@effect/platform-node"
import { Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"
import { Faults } from "./faults.ts"
import { Ledger } from "./ledger.ts"

/** Long past the client's attempt timeout, also on a machine that is busy. */
const slowReply = "3 seconds"

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

/** What an undisturbed provider answers. */
const settle = Effect.fn("Provider.settle")(function* (order: string, request: HttpServerRequest.HttpServerRequest) {
  const ledger = yield* Ledger
  const payment = yield* HttpServerRequest.schemaBodyJson(Payment).pipe(Effect.result)
  if (payment._tag === "Failure") {
    ledger.note(order, "422 malformed")
    return refusal(422, payment.failure.message.replace(/\s+/g, " "))
  }
  const { amount, card } = payment.success
  const reason = declined[card.slice(-4)]
  if (reason !== undefined) {
    ledger.note(order, "402 card declined")
    return refusal(402, reason)
  }
  return HttpServerResponse.jsonUnsafe(ledger.charge(order, amount, request.headers["idempotency-key"]))
})

/** The connection is gone, and this request with it. */
const reset = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.andThen(
    Effect.sync(() => NodeHttpServerRequest.toIncomingMessage(request).socket.resetAndDestroy()),
    Effect.never
  )

const charges = HttpRouter.add(
  "POST",
  "/charges/:order",
  Effect.fnUntraced(function* (request) {
    const faults = yield* Faults
    const ledger = yield* Ledger
    const { order } = yield* HttpRouter.schemaPathParams(Schema.Struct({ order: Schema.String }))

    ledger.note(order, "request")
    const fault = faults.at(order, ledger.count(order, "request"))
    if (fault !== undefined) ledger.note(order, fault)

    if (fault === "503") return refusal(503, "overloaded")
    if (fault === "429") return refusal(429, "too many requests", { "retry-after": "1" })
    if (fault === "reset before the charge") return yield* reset(request)
    const answer = yield* settle(order, request)
    if (fault === "reset after the charge") return yield* reset(request)
    if (fault === "slow reply") yield* Effect.sleep(slowReply)
    return answer
  })
)

/** The book is open to everybody: the shop reads its totals there, and so do the tests. */
const book = HttpRouter.add(
  "GET",
  "/ledger",
  Effect.gen(function* () {
    const { statement } = yield* Ledger
    return HttpServerResponse.jsonUnsafe(statement())
  })
)

/** The provider, on a free port. */
export const layer = HttpRouter.serve(Layer.mergeAll(charges, book), {
  disableLogger: true,
  disableListenLog: true
}).pipe(
  Layer.provideMerge(NodeHttpServer.layer(createServer, { host: "127.0.0.1", port: 0 }))
)

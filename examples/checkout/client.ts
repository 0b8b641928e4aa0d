/**
 * The shop's side: an order becomes a request, the request is sent until it is answered, the answer becomes a receipt.
 */
import { Policy } from "@reprise/core"
import { HttpRetry } from "@reprise/http"
import { Context, Data, Duration, Effect, Layer, Schema } from "effect"
import { HttpClient, type HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"

/** An order as the shop has it. Whether it can be charged is for the provider to say. */
export const Order = Schema.Struct({
  id: Schema.NonEmptyString,
  item: Schema.String,
  /** In minor units, such as cents. */
  amount: Schema.Int,
  currency: Schema.String,
  card: Schema.String
})
export type Order = typeof Order.Type

export const Receipt = Schema.Struct({ id: Schema.String, order: Schema.String, amount: Schema.Int })
export type Receipt = typeof Receipt.Type

export class CardDeclined extends Data.TaggedError("CardDeclined")<{ readonly message: string }> {}

export class InvalidOrder extends Data.TaggedError("InvalidOrder")<{ readonly message: string }> {}

/** Whatever else the provider says in place of a receipt. */
export class NoReceipt extends Data.TaggedError("NoReceipt")<{ readonly message: string }> {}

const waits = Policy.exponential("100 millis").pipe(
  Policy.capped("1 second"),
  Policy.jittered,
  Policy.honoringRetryAfter({ max: "5 seconds" })
)

/** How often, and how soon. What is worth a retry is not in it: the client knows that of HTTP. */
export const policy = Policy.attempts(waits, 5)

/** For a provider that is gone for a while. */
export const patient = Policy.attempts(waits, 10)

export const attemptTimeout = Duration.seconds(1)

/** Made once for the whole program: its requests share what the provider says of the wait. */
export const retrying = (client: HttpClient.HttpClient, by = policy) =>
  HttpRetry.client(client, by, {
    name: "charge",
    attemptTimeout,
    // This provider fails more than a quarter of all orders, on purpose, and the budget that there is by default would
    // refuse most of their retries. Where failures are rare, leave it on: it keeps a shop from burying a provider that is down.
    budget: "none"
  })

/** What asks for the money. Sent twice without a key, it takes the money twice. */
export const request = (url: string, { amount, card, currency, id }: Order): HttpClientRequest.HttpClientRequest =>
  HttpClientRequest.post(`${url}/charges/${id}`).pipe(HttpClientRequest.bodyJsonUnsafe({ amount, currency, card }))

/**
 * The key comes from the order and from nothing else. So it is the same in every attempt, and also in another process,
 * when this one dies before it hears of the charge.
 */
export const keyed = (url: string, order: Order): HttpClientRequest.HttpClientRequest =>
  HttpRetry.keyed(request(url, order), `order-${order.id}`)

/** Where the provider is. */
export class ProviderUrl extends Context.Service<ProviderUrl, string>()("examples/checkout/ProviderUrl") {}

export class Payments extends Context.Service<Payments, {
  /** Charges an order once, however many requests it takes. */
  readonly charge: (
    order: Order
  ) => Effect.Effect<
    Receipt,
    CardDeclined | InvalidOrder | NoReceipt | HttpRetry.Errors<HttpClientError.HttpClientError>
  >
}>()("examples/checkout/Payments") {
  static readonly layer = (by = policy) =>
    Layer.effect(
      Payments,
      Effect.gen(function* () {
        const client = retrying(yield* HttpClient.HttpClient, by)
        const url = yield* ProviderUrl
        return Payments.of({
          charge: Effect.fn("Payments.charge")((order) => Effect.flatMap(client.execute(keyed(url, order)), receipt))
        })
      })
    )
}

const Problem = Schema.Struct({ error: Schema.String })

/** A 402 or 422 would be the same the next time: the client lets them pass, and here they become errors. */
export const receipt = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse) {
  if (response.status === 200) return yield* HttpClientResponse.schemaBodyJson(Receipt)(response)
  const { error: message } = yield* HttpClientResponse.schemaBodyJson(Problem)(response)
  switch (response.status) {
    case 402:
      return yield* new CardDeclined({ message })
    case 422:
      return yield* new InvalidOrder({ message })
    default:
      return yield* new NoReceipt({ message: `${response.status}: ${message}` })
  }
}, Effect.catchTag("SchemaError", ({ message }) => new NoReceipt({ message })))

/**
 * The shop's side: typed errors, one request, and the charge that is retried.
 */
import { IdempotencyKey, Policy, Retry, type RetryExhausted } from "@reprise/core"
import { type Cause, Context, Data, type DateTime, Duration, Effect, Layer, Result, Schema } from "effect"
import { Headers, HttpClient, HttpClientRequest, type HttpClientResponse } from "effect/http"

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

const Receipt = Schema.Struct({ id: Schema.String, order: Schema.String, amount: Schema.Int })
export type Receipt = typeof Receipt.Type

export class CardDeclined extends Data.TaggedError("CardDeclined")<{ readonly message: string }> {}

export class InvalidOrder extends Data.TaggedError("InvalidOrder")<{ readonly message: string }> {}

export class Unavailable extends Data.TaggedError("Unavailable")<{ readonly message: string }> {}

export class Throttled extends Data.TaggedError("Throttled")<{
  readonly message: string
  /** When the provider wants to be asked again. A policy with `honoringRetryAfter` reads it. */
  readonly retryAfter: Duration.Duration | DateTime.Utc | undefined
}> {}

export class ConnectionLost extends Data.TaggedError("ConnectionLost")<{
  readonly message: string
  readonly cause: unknown
}> {}

/** What another attempt may cure. The other two are terminal, and no policy retries them. */
export type Transient = Unavailable | Throttled | ConnectionLost

export const policy = Policy.exponential("100 millis").pipe(
  Policy.capped("1 second"),
  Policy.jittered,
  Policy.attempts(5),
  Policy.honoringRetryAfter({ max: "5 seconds" }),
  Policy.whileTag("Unavailable", "Throttled", "ConnectionLost")
)

export const attemptTimeout = Duration.seconds(1)

/** Where the provider is. */
export class ProviderUrl extends Context.Service<ProviderUrl, string>()("examples/checkout/ProviderUrl") {}

export class Payments extends Context.Service<Payments, {
  /** One request, without a second try. */
  readonly send: (
    order: Order,
    key?: IdempotencyKey.IdempotencyKey
  ) => Effect.Effect<Receipt, CardDeclined | InvalidOrder | Transient>
  /** Charges an order once, however many requests it takes. */
  readonly charge: (
    order: Order,
    onRetry: (event: Retry.RetryEvent) => Effect.Effect<void>
  ) => Effect.Effect<
    Receipt,
    CardDeclined | InvalidOrder | RetryExhausted.RetryExhausted<Transient | Cause.TimeoutError>
  >
}>()("examples/checkout/Payments") {
  static readonly layer = Layer.effect(
    Payments,
    Effect.gen(function* () {
      const client = yield* HttpClient.HttpClient
      const url = yield* ProviderUrl

      const send = Effect.fn("Payments.send")(function* (order: Order, key?: IdempotencyKey.IdempotencyKey) {
        const { amount, card, currency, id } = order
        const headers = key === undefined ? {} : { "idempotency-key": key }
        const response = yield* HttpClientRequest.post(`${url}/charges/${id}`, { headers }).pipe(
          HttpClientRequest.bodyJsonUnsafe({ amount, currency, card }),
          client.execute
        )
        // Read to its end whatever the status, so that the connection is free for the next request.
        const body = yield* response.json
        return yield* interpret(response, body)
      }, Effect.catchTag("HttpClientError", (cause) => new ConnectionLost({ message: cause.message, cause })))

      const charge = Effect.fn("Payments.charge")(
        (order: Order, onRetry: (event: Retry.RetryEvent) => Effect.Effect<void>) =>
          Retry.runKeyed(policy, (key) => send(order, key), {
            key: IdempotencyKey.make(`order-${order.id}`),
            name: "charge",
            attemptTimeout,
            onRetry
          })
      )

      return Payments.of({ send, charge })
    })
  )
}

const interpret = Effect.fnUntraced(function* (response: HttpClientResponse.HttpClientResponse, body: unknown) {
  if (response.status === 200) return yield* Schema.decodeUnknownEffect(Receipt)(body).pipe(Effect.orDie)
  const { error: message } = yield* Schema.decodeUnknownEffect(Problem)(body).pipe(Effect.orDie)
  switch (response.status) {
    case 402:
      return yield* new CardDeclined({ message })
    case 422:
      return yield* new InvalidOrder({ message })
    case 429:
      return yield* new Throttled({ message, retryAfter: retryAfter(response) })
    case 503:
      return yield* new Unavailable({ message })
    default:
      return yield* Effect.die(new Error(`Unexpected status ${response.status}: ${message}`))
  }
})

const Problem = Schema.Struct({ error: Schema.String })

/** The header's seconds or date; nothing when it is absent or cannot be read. */
const retryAfter = (response: HttpClientResponse.HttpClientResponse): Duration.Duration | DateTime.Utc | undefined => {
  const hint = Headers.parseRetryAfter(response.headers["retry-after"] ?? "")
  if (Result.isFailure(hint)) return undefined
  return hint.success._tag === "Duration" ? hint.success.duration : hint.success.dateTime
}

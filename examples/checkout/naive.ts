/**
 * The loop that people write: every error is tried again, at once, and no key tells the provider that it is a retry.
 */
import { Duration, Effect, Layer } from "effect"
import { HttpClient } from "effect/http"
import { attemptTimeout, NoReceipt, Payments, ProviderUrl, receipt, request } from "./client.ts"

export const attempts = 4

const tooLate = new NoReceipt({ message: `no answer within ${Duration.format(attemptTimeout)}` })

export const layer = Layer.effect(
  Payments,
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const url = yield* ProviderUrl
    return Payments.of({
      charge: Effect.fn("naive.charge")((order) =>
        client.execute(request(url, order)).pipe(
          Effect.flatMap(receipt),
          Effect.timeoutOrElse({ duration: attemptTimeout, orElse: () => tooLate }),
          Effect.retry({ times: attempts - 1 })
        )
      )
    })
  })
)

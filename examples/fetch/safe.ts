/** The same twenty orders. What was a loop is now one line, made once. */
import { RetryExhausted } from "@reprise/core"
import { HttpRetry } from "@reprise/http"

// The orders go out one after the other and are few, so no budget has to hold their retries together.
const fetch = HttpRetry.fetch(undefined, { idempotencyKey: true, attemptTimeout: "500 millis", budget: "none" })

const order = async (shop: string, id: number): Promise<string> => {
  try {
    const response = await fetch(`${shop}/orders`, { method: "POST", body: JSON.stringify({ id }) })
    return response.ok ? "ordered" : `refused with ${response.status}`
  } catch (error) {
    return RetryExhausted.is(error) ? `given up after ${error.attempts} attempts` : `failed with ${String(error)}`
  }
}

export const orders = async (shop: string): Promise<ReadonlyArray<string>> => {
  const outcomes: Array<string> = []
  for (let id = 1; id <= 20; id++) outcomes.push(await order(shop, id))
  return outcomes
}

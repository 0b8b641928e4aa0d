/**
 * Sends twenty orders to a shop that misbehaves, with plain `fetch` in a loop and then with `HttpRetry.fetch`:
 * `node_modules/.bin/node examples/fetch/main.ts`.
 */
import * as plain from "./plain.ts"
import * as safe from "./safe.ts"
import { open } from "./shop.ts"

const tally = (outcomes: ReadonlyArray<string>): string => {
  const counts = new Map<string, number>()
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  return Array.from(counts, ([outcome, count]) => `${count} ${outcome}`).join(", ")
}

const show = async (title: string, orders: (shop: string) => Promise<ReadonlyArray<string>>): Promise<void> => {
  const shop = await open()
  try {
    const outcomes = await orders(shop.url)
    const once = new Set(shop.booked).size
    console.log(`${title}
  outcomes: ${tally(outcomes)}
  requests: ${shop.requests.length}
  orders booked: ${once}
  booked again: ${shop.booked.length - once}
`)
  } finally {
    shop.close()
  }
}

await show("A loop around fetch", plain.orders)
await show("HttpRetry.fetch", safe.orders)

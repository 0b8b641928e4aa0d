/** Twenty orders at a shop, as it is often written: three tries, whatever went wrong. */

const order = async (shop: string, id: number): Promise<string> => {
  for (let attempt = 1;; attempt++) {
    try {
      const response = await fetch(`${shop}/orders`, { method: "POST", body: JSON.stringify({ id }) })
      if (response.ok) return "ordered"
      if (attempt === 3) return `failed with ${response.status}`
    } catch (error) {
      if (attempt === 3) return `failed with ${String(error)}`
    }
  }
}

export const orders = async (shop: string): Promise<ReadonlyArray<string>> => {
  const outcomes: Array<string> = []
  for (let id = 1; id <= 20; id++) outcomes.push(await order(shop, id))
  return outcomes
}

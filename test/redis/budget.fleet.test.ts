import { setTimeout } from "node:timers/promises"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { startFleet } from "./budgetFleet.ts"
import type { Load } from "./budgetMember.ts"
import { hasOwnRedis, type RedisServer, startRedis } from "./server.ts"

let server: RedisServer
let names = 0

beforeAll(async () => {
  if (hasOwnRedis) server = await startRedis()
})
afterEach(async () => {
  server.thaw()
  await server.start()
})
afterAll(async () => {
  if (hasOwnRedis) await server.stop()
})

/** One process has 91 % of the load, nine have 1 % each. */
const uneven = (requests: number, rate: number): ReadonlyArray<Load> => {
  const name = `fleet ${process.pid} ${++names}`
  return [0.91, ...Array.from({ length: 9 }, () => 0.01)].map((part) => ({
    url: server.url,
    name,
    requests: Math.round(requests * part),
    rate: rate * part,
    ratio: 0.2,
    noticesFreezes: names % 2 === 0
  }))
}

const kill = () => server.kill()

const killAndRestart = async () => {
  await server.kill()
  await setTimeout(1_000)
  await server.start()
}

const freeze = async () => {
  server.freeze()
  await setTimeout(3_000)
  server.thaw()
}

describe.skipIf(!hasOwnRedis)("ten processes, one of them with 91 % of the load, all calls failing", () => {
  it.each([
    { what: "all is well", fault: async () => {}, losses: 0 },
    { what: "Redis is killed", fault: kill, losses: 1 },
    { what: "Redis is killed and comes back empty", fault: killAndRestart, losses: 1 },
    { what: "Redis is frozen for 3 s", fault: freeze, losses: 1 }
  ])("have 2,000 retries for 10,000 requests when $what", async ({ fault, losses, what }) => {
    const fleet = await startFleet(uneven(10_000, 800))
    await fleet.until(5_000)
    await fault()
    const results = await fleet.results
    const sum = (of: (result: (typeof results)[number]) => number) => results.reduce((n, result) => n + of(result), 0)
    const granted = sum((_) => _.granted)
    const slowest = Math.max(...results.map((_) => _.slowest))
    if (process.env["REPRISE_TEST_FIGURES"] !== undefined) {
      process.stderr.write(
        `${what}: ${granted} granted, ${sum((_) => _.retries)} started, slowest ${slowest.toFixed(0)} ms, ` +
          `median ${results[0]!.median.toFixed(2)} ms, warnings ${results.map((_) => _.warnings.length).join(" ")}\n`
      )
    }
    expect(sum((_) => _.requests)).toBe(10_000)
    expect(granted).toBeGreaterThanOrEqual(1_960)
    expect(granted).toBeLessThanOrEqual(2_040)
    expect(sum((_) => _.strange)).toBe(0)
    // A busy machine may have been as slow as a frozen server is, and once more is as right.
    for (const { warnings } of results) expect(warnings.length).toBeGreaterThanOrEqual(losses)
  })
})

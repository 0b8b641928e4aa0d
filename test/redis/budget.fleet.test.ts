import { setTimeout } from "node:timers/promises"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { startFleet } from "./budgetFleet.ts"
import type { Load } from "./budgetMember.ts"
import { hasOwnRedis, type RedisServer, startOwnRedis } from "./server.ts"

let server: RedisServer
let names = 0

beforeAll(async () => {
  if (hasOwnRedis) server = await startOwnRedis()
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
  it.each(
    [
      // Redis decides, and nobody else while it is there: none are decided alone on a machine that is not busy.
      { what: "all is well", fault: async () => {}, losses: 0, alone: [0, 100] },
      { what: "Redis is killed", fault: kill, losses: 1, alone: [4_000, 10_000] },
      { what: "Redis is killed and comes back empty", fault: killAndRestart, losses: 1, alone: [800, 4_000] },
      { what: "Redis is frozen for 3 s", fault: freeze, losses: 1, alone: [1_600, 6_000] }
    ] as const
  )("have 2,000 retries for 10,000 requests when $what", async ({ alone, fault, losses, what }) => {
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
          `median ${results[0]!.median.toFixed(2)} ms, warnings ${results.map((_) => _.warnings.length).join(" ")}, ` +
          `fallbacks ${results.map((_) => _.fallbacks).join(" ")}, waiting ${sum((_) => _.waiting)}\n`
      )
    }
    expect(sum((_) => _.requests)).toBe(10_000)
    expect(granted).toBeGreaterThanOrEqual(1_960)
    expect(granted).toBeLessThanOrEqual(2_040)
    expect(sum((_) => _.strange)).toBe(0)
    // Those that have not ended wait for the pace of the budget, each with a retry that it was granted; a few may not
    // have had their answer.
    const unanswered = sum((_) => _.waiting) - (granted - sum((_) => _.retries))
    expect(unanswered).toBeGreaterThanOrEqual(0)
    expect(unanswered).toBeLessThanOrEqual(10)
    // An answer is waited for 50 ms, and a busy machine adds to it.
    expect(slowest).toBeLessThan(500)
    expect(sum((_) => _.fallbacks)).toBeGreaterThanOrEqual(alone[0])
    expect(sum((_) => _.fallbacks)).toBeLessThanOrEqual(alone[1])
    // A busy machine may have been as slow as a frozen server is, and once more is as right.
    for (const { warnings } of results) expect(warnings.length).toBeGreaterThanOrEqual(losses)
  })
})

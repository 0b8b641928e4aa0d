import type * as RetryBudget from "@reprise/core/RetryBudget"
import { performance } from "node:perf_hooks"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { until } from "../core/until.ts"
import { type ClientOptions, join, type Member, newName, pause } from "./budgetMembers.ts"
import { startProxy } from "./budgetProxy.ts"
import { hasOwnRedis, type RedisServer, startOwnRedis } from "./server.ts"

let server: RedisServer
const members: Array<Member> = []

beforeAll(async () => {
  if (hasOwnRedis) server = await startOwnRedis()
})
// A test that failed in the middle leaves it killed or frozen.
afterEach(async () => {
  server.thaw()
  await server.start()
  await Promise.all(members.splice(0).map((member) => member.close()))
})
afterAll(async () => {
  if (hasOwnRedis) await server.stop()
})

type Options = Partial<RetryBudget.RedisOptions> & Pick<RetryBudget.RedisOptions, "name">

const member = async (options: Options, client: Partial<ClientOptions & { before: () => void }> = {}) => {
  const made = await join({ url: server.url, ...client }, {
    ratio: 0.5,
    minPerSecond: 0,
    perOperation: 1,
    window: "60 seconds",
    flush: "200 millis",
    ...options
  })
  members.push(made)
  return made
}

/**
 * Asks for a retry, and says for how many milliseconds; and for how many this thread had nothing to do, which a busy
 * machine does not add to.
 */
const timed = async (one: Member) => {
  const start = performance.now()
  const { idle } = performance.eventLoopUtilization()
  const yes = await one.takes(1)
  return {
    yes: yes === 1,
    took: performance.now() - start,
    idle: performance.eventLoopUtilization().idle - idle
  }
}

/** What a busy machine may add to a time. */
const slack = 200

describe.skipIf(!hasOwnRedis)("a Redis that is killed", () => {
  it("leaves each process what its own requests bring, and its part of what is left", async () => {
    const name = newName()
    const busy = await member({ name })
    const idle = await member({ name })
    // Both know that there are two, and that ten are left.
    await pause(300)
    busy.requests(20)
    await until(() => busy.balance() === 10 && idle.balance() === 10)
    await server.kill()
    busy.requests(10)
    expect(await busy.takes(20)).toBe(10)
    expect(await idle.takes(20)).toBe(5)
    expect(busy.warnings().length).toBe(1)
    expect(idle.warnings().length).toBe(1)
    expect(busy.fallbacks()).toBe(20)
  })

  it("leaves each process its part of the reserve", async () => {
    const name = newName()
    const all = await Promise.all([1, 2, 3, 4].map(() => member({ name, ratio: 0, minPerSecond: 20 })))
    await pause(300)
    await server.kill()
    await Promise.all(all.map((one) => one.takes(50)))
    await pause(2_000)
    const granted = await Promise.all(all.map((one) => one.takes(50)))
    for (const one of granted) expect(Math.abs(one - 10)).toBeLessThanOrEqual(2)
  })

  it("leaves nothing where that is chosen", async () => {
    const one = await member({ name: newName(), whileAway: "deny" })
    one.requests(100)
    await server.kill()
    expect(await one.takes(10)).toBe(0)
    expect(one.balance()).toBe(0)
    expect(one.warnings()[0]).toContain("makes no retries until it does")
  })

  it("gets one probe a second, and holds up nobody", async () => {
    const one = await member({ name: newName() })
    await server.kill()
    await one.takes(1)
    const before = one.sent.length
    const start = performance.now()
    let longest = 0
    while (performance.now() - start < 5_000) {
      one.requests(1)
      longest = Math.max(longest, (await timed(one)).idle)
      await pause(1)
    }
    expect(one.sent.length - before).toBeGreaterThanOrEqual(4)
    expect(one.sent.length - before).toBeLessThanOrEqual(5)
    expect(longest).toBeLessThan(10)
    expect(one.warnings().length).toBe(1)
  })

  it("is told everything once it is back, empty, within a second", async () => {
    const name = newName()
    const one = await member({ name })
    const other = await member({ name })
    one.requests(40)
    expect(await one.takes(6)).toBe(6)
    other.requests(20)
    expect(await other.takes(2)).toBe(2)
    await server.kill()
    await pause(500)
    // Half of what is left, or less where not all had been heard.
    const alone = await one.takes(8)
    expect(alone).toBe(8)
    await pause(1_000)
    await server.start()
    const start = performance.now()
    await until(() => [one, other].every(({ lines }) => lines.some((line) => line.includes("answers again"))))
    const took = performance.now() - start
    await pause(200)
    const third = await member({ name })
    expect(third.balance()).toBe(30 - 8 - alone)
    expect(took).toBeLessThan(1_200)
    expect(await third.takes(20)).toBe(30 - 8 - alone)
  })

  it("may be killed again and again", async () => {
    const name = newName()
    const one = await member({ name })
    let granted = 0
    for (let round = 0; round < 3; round++) {
      one.requests(10)
      granted += await one.takes(3)
      await server.restart()
      one.requests(10)
      granted += await one.takes(3)
      await until(() => one.lines.filter((line) => line.includes("answers again")).length === round + 1)
    }
    await pause(300)
    const other = await member({ name })
    expect(granted).toBe(18)
    expect(other.balance()).toBe(12)
    expect(one.warnings().length).toBe(3)
  })
})

describe.skipIf(!hasOwnRedis)("a Redis that is frozen", () => {
  it.each([
    { noticesFreezes: true, client: "a client that notices" },
    { noticesFreezes: false, client: "a client that does not" }
  ])("holds up a retry for no longer than the timeout, and the next not at all, with $client", async (client) => {
    const name = newName()
    const one = await member({ name }, client)
    one.requests(100)
    expect(await one.takes(5)).toBe(5)
    await until(() => one.balance() === 45)
    server.freeze()
    const first = await Promise.all(Array.from({ length: 10 }, () => timed(one)))
    for (const { took, yes } of first) {
      expect(yes).toBe(true)
      expect(took).toBeLessThan(50 + slack)
    }
    const before = one.sent.length
    for (let i = 0; i < 30; i++) {
      expect((await timed(one)).idle).toBeLessThan(10)
      await pause(100)
    }
    expect(one.sent.length - before).toBeLessThanOrEqual(4)
    server.thaw()
    const back = await until(() => one.lines.some((line) => line.includes("answers again")))
    expect(back).toBeLessThan(1_200)
    expect(one.warnings().length).toBe(1)
    // The ten that lay in its socket have run now, and no retry of theirs counts twice.
    await pause(300)
    const other = await member({ name })
    expect(other.balance()).toBe(5)
    expect(await other.takes(10)).toBe(5)
  })

  it("holds up the layer for a second, and nobody who leaves", async () => {
    const start = performance.now()
    const one = await member({ name: newName() }, { noticesFreezes: false, before: () => server.freeze() })
    expect(performance.now() - start).toBeLessThan(1_000 + 3 * slack)
    expect(one.warnings().length).toBe(1)
    one.requests(10)
    expect(await one.takes(10)).toBe(5)
  })
})

describe.skipIf(!hasOwnRedis)("answers that are lost", () => {
  it.each(
    [
      {
        whileAway: "share",
        alone: 10,
        left: 8,
        title: "count once, though the process granted itself what the server did"
      },
      { whileAway: "deny", alone: 0, left: 18, title: "leave nothing taken for those who made no retry of it" }
    ] as const
  )("$title", async ({ alone, left, whileAway }) => {
    const name = newName()
    const proxy = await startProxy(server.url)
    const one = await member({ name, flush: "10 seconds", whileAway }, { url: proxy.url, noticesFreezes: false })
    one.requests(40)
    expect(await one.takes(2)).toBe(2)
    proxy.deafen()
    // The server grants all ten, and nobody hears of it.
    expect(await one.takes(10)).toBe(alone)
    proxy.cut()
    await until(() => one.lines.some((line) => line.includes("answers again")))
    const other = await member({ name })
    expect(other.balance()).toBe(left)
    await one.close()
    members.splice(members.indexOf(one), 1)
    await proxy.stop()
  })
})

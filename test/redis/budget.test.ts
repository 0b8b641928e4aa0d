import * as Policy from "@reprise/core/Policy"
import * as Retry from "@reprise/core/Retry"
import * as RetryBudget from "@reprise/core/RetryBudget"
import * as Effect from "effect/Effect"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { until } from "../core/until.ts"
import { join, type Member, newName, pause } from "./budgetMembers.ts"
import { hasRedis, type RedisServer, startRedis } from "./server.ts"

let server: RedisServer
const members: Array<Member> = []

beforeAll(async () => {
  if (hasRedis) server = await startRedis()
})
afterEach(async () => {
  await Promise.all(members.splice(0).map((member) => member.close()))
})
afterAll(async () => {
  if (hasRedis) await server.stop()
})

const member = async (options: Partial<RetryBudget.RedisOptions> & { readonly name: string }) => {
  const made = await join({ url: server.url }, { ratio: 0.5, minPerSecond: 0, perOperation: 1, ...options })
  members.push(made)
  return made
}

/** Two processes of thirty requests, which pay for fifteen retries, and four of them made. */
const spent = async () => {
  const name = newName()
  const one = await member({ name })
  const other = await member({ name })
  one.requests(20)
  expect(await one.takes(3)).toBe(3)
  other.requests(10)
  expect(await other.takes(1)).toBe(1)
  return { name, one }
}

describe.skipIf(!hasRedis)("a budget in Redis", () => {
  it("is paid into by one process and spent by another", async () => {
    const name = newName()
    const one = await member({ name, flush: "50 millis" })
    const other = await member({ name, flush: "50 millis" })
    one.requests(10)
    await until(() => other.balance() === 5)
    expect(await other.takes(7)).toBe(5)
    expect(await one.takes(2)).toBe(0)
  })

  it("takes the deposits along with a withdrawal", async () => {
    const one = await member({ name: newName(), flush: "10 seconds" })
    one.requests(9)
    expect(await one.takes(6)).toBe(4)
    expect(one.balance()).toBe(0.5)
  })

  it("is not that of another name, nor of another window", async () => {
    const name = newName()
    const one = await member({ name, flush: "50 millis" })
    const others = [await member({ name: newName() }), await member({ name, window: "20 seconds" })]
    one.requests(100)
    await pause(150)
    for (const other of others) expect(await other.takes(1)).toBe(0)
  })

  it("forgets after the window", async () => {
    const one = await member({ name: newName(), window: "1 second" })
    one.requests(10)
    expect(await one.takes(2)).toBe(2)
    await pause(1_300)
    expect(await one.takes(1)).toBe(0)
    expect(one.balance()).toBe(0)
  })

  it("trickles for all together where there are no requests", async () => {
    const name = newName()
    const all = await Promise.all([1, 2, 3, 4].map(() => member({ name, ratio: 0, minPerSecond: 10 })))
    let granted = 0
    const start = performance.now()
    while (performance.now() - start < 2_000) {
      for (const one of all) granted += await one.takes(1)
      await pause(10)
    }
    expect(granted).toBeGreaterThanOrEqual(18)
    expect(granted).toBeLessThanOrEqual(22)
  })

  it("gets back what did not start, once, and also from an earlier slice", async () => {
    const one = await member({ name: newName(), window: "2 seconds", flush: "50 millis" })
    one.requests(4)
    const [first, second] = [await one.take(), await one.take()]
    expect(one.balance()).toBe(0)
    await pause(300)
    one.refund(first!)
    one.refund(first!)
    one.start(second!)
    one.refund(second!)
    await until(() => one.balance() > 0)
    expect(one.balance()).toBe(1)
    // The retry and its refund leave the window together.
    await pause(2_500)
    expect(one.balance()).toBe(0)
  })

  it("is told the last of who leaves", async () => {
    const name = newName()
    const one = await member({ name, flush: "10 seconds" })
    one.requests(10)
    const taken = await one.take()
    one.refund(taken!)
    await one.close()
    const other = await member({ name })
    expect(other.balance()).toBe(5)
  })

  it("lets no more wait than may, also of those that ask at once", async () => {
    const one = await member({ name: newName(), maxWaiting: 3 })
    one.requests(100)
    expect(await one.takes(10)).toBe(3)
  })

  it("costs no command where a run succeeds", async () => {
    const one = await member({ name: newName() })
    const run = Retry.run(Effect.succeed(1), Policy.immediate(3))
    const before = one.sent.length
    const start = performance.now()
    await Effect.runPromise(Effect.provideContext(Effect.repeat(run, { times: 999 }), one.context))
    await pause(2_500)
    const flushes = Math.ceil((performance.now() - start) / 1_000)
    expect(one.sent.length - before).toBeLessThanOrEqual(flushes)
    await until(() => one.balance() === 500)
  })

  it("costs one command for each retry that is asked for", async () => {
    const one = await member({ name: newName(), flush: "10 seconds" })
    one.requests(10)
    const before = one.sent.length
    expect(await one.takes(50)).toBe(5)
    expect(one.sent.length - before).toBe(50)
  })

  it("says no to a run by its reason", async () => {
    const one = await member({ name: newName(), ratio: 0 })
    let attempts = 0
    const failing = Effect.suspend(() => {
      attempts++
      return Effect.fail("down")
    })
    const error = await Effect.runPromise(
      Effect.provideContext(Effect.flip(Retry.run(failing, Policy.immediate(3))), one.context)
    )
    expect(attempts).toBe(1)
    expect(error).toMatchObject({ _tag: "RetryExhausted", reason: { _tag: "Budget" } })
  })

  it("is not used up by one run, and comes back (F12)", async () => {
    const one = await member({ name: newName(), perOperation: 0.2, window: "1 second" })
    one.requests(40)
    await until(() => one.balance() === 20)
    const endless = Effect.exit(Retry.run(Effect.fail("down"), Policy.immediate(1000)))
    await Effect.runPromise(Effect.provideContext(endless, one.context))
    expect(await one.takes(20)).toBe(16)
    await pause(1_500)
    one.requests(2)
    expect(await one.takes(2)).toBe(1)
  })

  it("survives that the server forgets its scripts", async () => {
    const one = await member({ name: newName() })
    one.requests(10)
    expect(await one.takes(1)).toBe(1)
    await Effect.runPromise(one.send("SCRIPT", "FLUSH"))
    expect(await one.takes(5)).toBe(4)
    expect(one.warnings()).toEqual([])
  })

  it("survives that the server forgets its keys, with nothing lost and nothing twice", async () => {
    const { name, one } = await spent()
    // What is to be told anew is not only of now.
    await pause(1_500)
    const keys = await Effect.runPromise(one.send<ReadonlyArray<string>>("KEYS", `*${name}*`))
    await Effect.runPromise(one.send("DEL", ...keys))
    await pause(1_200)
    const third = await member({ name })
    expect(third.balance()).toBe(11)
    expect(one.warnings()).toEqual([])
  })

  it.each(["fleet", "process", "live"])("survives that the server evicts a key: %s", async (kind) => {
    const { name, one } = await spent()
    const keys = await Effect.runPromise(one.send<ReadonlyArray<string>>("KEYS", `*${name}:*${kind}*`))
    expect(keys.length).toBeGreaterThanOrEqual(1)
    await Effect.runPromise(one.send("DEL", keys[0]!))
    await pause(2_200)
    const third = await member({ name })
    expect(third.balance()).toBe(11)
  })

  it("is not set back by a command that others have overtaken", async () => {
    const name = newName()
    let delayed = false
    const one = await join({
      url: server.url,
      fault: (command) => {
        if (!delayed) return command
        delayed = false
        return Effect.delay(command, 30)
      }
    }, { name, ratio: 0.5, minPerSecond: 0, flush: "10 seconds" })
    members.push(one)
    delayed = true
    const overtaken = one.take()
    one.requests(10)
    expect(await one.takes(1)).toBe(1)
    expect(await overtaken).toBeDefined()
    expect((await member({ name })).balance()).toBe(3)
  })

  it("does nothing for a command that runs when nobody waits for it any more", async () => {
    const name = newName()
    let late: Promise<unknown> | undefined
    let joined = false
    const one = await join({
      url: server.url,
      fault: (command) => {
        if (late !== undefined || !joined) return command
        late = Effect.runPromise(Effect.delay(command, 200))
        return Effect.never
      }
    }, { name, ratio: 0.5, minPerSecond: 0, whileAway: "deny", flush: "10 seconds" })
    members.push(one)
    joined = true
    one.requests(10)
    expect(await one.takes(1)).toBe(0)
    expect(await late).toEqual([0, 0, 0, 0, 0, 0, expect.any(Number), 0])
    // Before it has heard of the process again.
    expect((await member({ name })).balance()).toBe(0)
    await pause(1_200)
    expect((await member({ name })).balance()).toBe(5)
  })

  it("is decided by the process where the keys are not what they should be", async () => {
    const name = newName()
    const one = await member({ name, flush: "10 seconds" })
    await Effect.runPromise(one.send("SET", `reprise:budget:{${name}:10000}:fleet`, "what?"))
    one.requests(4)
    expect(await one.takes(3)).toBe(2)
    expect(one.warnings().length).toBe(1)
  })

  it("has limits for its options", () => {
    const reject = (options: object, text: string) =>
      // Wrong on purpose.
      expect(() => RetryBudget.layerRedis({ name: "a", ...options } as never)).toThrow(text)
    reject({ name: "" }, "layerRedis.name")
    reject({ name: "a}" }, "layerRedis.name")
    reject({ name: undefined }, "layerRedis.name")
    reject({ ratio: 11 }, "layerRedis.ratio")
    reject({ window: "61 seconds" }, "layerRedis.window")
    reject({ timeout: 0 }, "layerRedis.timeout")
    reject({ timeout: "2 seconds" }, "layerRedis.timeout")
    reject({ flush: "10 millis" }, "layerRedis.flush")
    reject({ flush: "11 seconds" }, "layerRedis.flush")
    reject({ whileAway: "allow" }, "layerRedis.whileAway")
    reject({ maxWaiting: 0 }, "layerRedis.maxWaiting")
  })
})

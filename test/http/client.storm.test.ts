// R7: ten thousand clients that were told the same do not come back together.
import { describe, expect, it } from "@effect/vitest"
import { Plan, Policy, Presets, RetryBudget } from "@reprise/core"
import type * as Transience from "@reprise/core/Transience"
import { HttpRetry } from "@reprise/http"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import { awaited, retrying } from "./clientScript.ts"

const clients = 10_000
const capacity = 1_000
const start = 1_800_000_000_000

const overloaded = (retryAfter: Transience.RetryAfter | undefined) =>
  new HttpRetry.ResponseError({
    status: 503,
    method: "GET",
    url: "https://api.example/",
    headers: {},
    applied: "no",
    throttled: true,
    retryAfter
  })

/**
 * Clients that all call at once a server that does so many a second and turns the others away. When each attempt
 * arrives, in milliseconds.
 */
const arrivals = (seed: number, error: unknown): ReadonlyArray<number> => {
  const stepper = Policy.stepper(Presets.http)
  const random = Effect.runSync(Random.withSeed(Effect.service(Random.Random), seed))
  const all: Array<number> = []
  const served = new Map<number, number>()
  let wave = Array.from({ length: clients }, () => ({ at: 0, state: stepper.start() }))
  for (let attempt = 1; wave.length > 0; attempt++) {
    const next: typeof wave = []
    for (const { at, state } of wave.toSorted((a, b) => a.at - b.at)) {
      all.push(at)
      const second = Math.floor(at / 1000)
      const done = served.get(second) ?? 0
      if (done < capacity) {
        served.set(second, done + 1)
        continue
      }
      const wait = stepper.step(state, { attempt, elapsed: at, now: start + at, timedOut: false }, error, random)
      if (wait >= 0) next.push({ at: at + wait, state })
    }
    wave = next
  }
  return all.toSorted((a, b) => a - b)
}

/** The most arrivals in any second. */
const worstSecond = (times: ReadonlyArray<number>): number => {
  let most = 0
  let from = 0
  times.forEach((time, index) => {
    while (times[from]! <= time - 1000) from++
    most = Math.max(most, index - from + 1)
  })
  return most
}

describe("R7: 10,000 clients against a server of 1,000 a second", () => {
  it.each<[string, Transience.RetryAfter | undefined]>([
    ["told to wait a second", Duration.seconds(1)],
    ["told to wait until a moment", DateTime.makeUnsafe(start + 1000)],
    ["told a date that is past", DateTime.makeUnsafe(start - 5000)],
    ["told nothing", undefined]
  ])("%s: 35,000 in the worst second at most", (_, retryAfter) => {
    for (const seed of [1, 2]) {
      const times = arrivals(seed, overloaded(retryAfter))
      expect(times.length).toBeGreaterThan(clients)
      expect(worstSecond(times)).toBeLessThanOrEqual(35_000)
    }
  })

  it("told to wait a second, none comes back earlier, and no tenth of a second gets them all", () => {
    const [, ...back] = arrivals(1, overloaded(Duration.seconds(1))).filter((at) => at > 0)
    expect(back[0]).toBeGreaterThanOrEqual(1000)
    const tenths = new Map<number, number>()
    for (const at of back) tenths.set(Math.floor(at / 100), (tenths.get(Math.floor(at / 100)) ?? 0) + 1)
    expect(Math.max(...tenths.values())).toBeLessThan(0.6 * clients)
  })
})

describe("the numbers of the client's documentation", () => {
  it("are those of its plan", () => {
    const plan = Result.getOrThrow(Plan.of(Presets.http, { attemptTimeout: "10 seconds" }))
    expect(plan).toMatchObject({ total: { max: 600 }, worstCase: 30_600 })
    expect(plan._tag === "Limited" && Math.round(plan.total.mean)).toBe(300)
  })

  it.effect("with its own budget, one process adds a tenth to the load when everything fails", () =>
    Effect.gen(function* () {
      const { client, sent } = retrying([503], undefined, { budget: RetryBudget.make() })
      // 20 a second, for 15 seconds.
      const calls = Effect.forEach(
        Array.from({ length: 300 }, (_, index) => index),
        (index) => Effect.delay(Effect.exit(client.get("https://api.example/")), index * 50),
        { concurrency: "unbounded", discard: true }
      )
      yield* awaited(calls)
      expect(sent.length).toBeGreaterThan(300 * 1.05)
      expect(sent.length).toBeLessThanOrEqual(300 * 1.1 + 4)
    }))
})

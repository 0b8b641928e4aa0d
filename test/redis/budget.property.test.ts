import * as Effect from "effect/Effect"
import * as Redis from "effect/persistence/Redis"
import * as fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { samples } from "../laws/forAll.ts"
import { type Fault, join, type Member, newName, pause } from "./budgetMembers.ts"
import { hasRedis, type RedisServer, startRedis } from "./server.ts"

let server: RedisServer

beforeAll(async () => {
  if (hasRedis) server = await startRedis()
})
afterAll(async () => {
  if (hasRedis) await server.stop()
})

const faults = ["lost before", "lost after", "slow", "late", "very late", "overtaken", "twice"] as const

type Step =
  | { readonly _tag: "Requests"; readonly of: number; readonly count: number }
  | { readonly _tag: "Takes"; readonly of: number; readonly count: number }
  | { readonly _tag: "Refund"; readonly of: number }
  | { readonly _tag: "Fault"; readonly of: number; readonly fault: (typeof faults)[number] }
  | { readonly _tag: "Pause"; readonly millis: number }
  | { readonly _tag: "Forget" }
  | { readonly _tag: "Evict"; readonly key: number }

const of = fc.nat(2)

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ _tag: fc.constant("Requests"), of, count: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 5, arbitrary: fc.record({ _tag: fc.constant("Takes"), of, count: fc.integer({ min: 1, max: 8 }) }) },
  { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Refund"), of }) },
  { weight: 3, arbitrary: fc.record({ _tag: fc.constant("Fault"), of, fault: fc.constantFrom(...faults) }) },
  { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Pause"), millis: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Forget") }) },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("Evict"), key: fc.nat(4) }) }
)

const cases = fc.array(steps, { minLength: 10, maxLength: 40 })

const lost = Effect.fail(new Redis.RedisError({ cause: new Error("lost") }))

/** Does to commands what it is told to, one by one. */
const trouble = () => {
  const next: Array<(typeof faults)[number]> = []
  const late: Array<Promise<unknown>> = []
  const fault: Fault = (command) =>
    Effect.suspend(() => {
      switch (next.shift()) {
        case "lost before":
          return lost
        case "lost after":
          return Effect.andThen(command, lost)
        case "slow":
          return Effect.tap(command, () => Effect.sleep(1_100))
        case "late":
          late.push(Effect.runPromiseExit(Effect.delay(command, 300)))
          return lost
        case "very late":
          late.push(Effect.runPromiseExit(Effect.delay(command, 1_500)))
          return lost
        case "overtaken":
          return Effect.delay(command, 25)
        case "twice":
          return Effect.tap(command, () => Effect.exit(command))
        case undefined:
          return command
      }
    })
  return { next, late, fault }
}

const ratio = 0.5

const keysOf = (member: Member, name: string) =>
  Effect.runPromise(member.send<ReadonlyArray<string>>("KEYS", `*${name}:*`))

const forget = async (member: Member, keys: ReadonlyArray<string>) => {
  if (keys.length > 0) await Effect.runPromise(member.send("DEL", ...keys))
}

/**
 * The balance once it has been the expected one for a second, or what it is after half a minute. What is left over of the
 * faults, and a busy machine, may lose somebody for a second once more, who tells everything again then: on its way a
 * balance may be right by chance, and wrong again.
 */
const settled = async (witness: Member, expected: number): Promise<number> => {
  let right = 0
  for (let tries = 0; tries < 300 && right < 10; tries++) {
    await pause(100)
    right = witness.balance() === expected ? right + 1 : 0
  }
  return witness.balance()
}

/** Plays the steps, and compares what Redis has in the end with what there was. */
const play = async (steps: ReadonlyArray<Step>, whileAway: "share" | "deny") => {
  const name = newName()
  // On a busy machine an answer in 50 ms is no matter of course, and the end may take half a minute: nothing must leave
  // the window by then.
  const timeout = "200 millis"
  const options = { name, ratio, minPerSecond: 0, window: "1 minute", flush: "50 millis", timeout, whileAway } as const
  const troubles = [trouble(), trouble(), trouble()]
  const members: ReadonlyArray<Member> = await Promise.all(
    troubles.map(({ fault }) => join({ url: server.url, fault }, options))
  )
  const open: ReadonlyArray<Array<object>> = members.map(() => [])
  let requests = 0
  let retries = 0
  const overdrawn: Array<string> = []
  let forgotten = false
  for (const step of steps) {
    switch (step._tag) {
      case "Requests":
        requests += step.count
        members[step.of]!.requests(step.count)
        break
      case "Takes": {
        const answers = await Promise.all(Array.from({ length: step.count }, members[step.of]!.take))
        const granted = answers.filter((answer) => answer !== undefined)
        retries += granted.length
        open[step.of]!.push(...granted)
        if (retries > ratio * requests) overdrawn.push(`${retries} of ${ratio * requests}`)
        break
      }
      case "Refund": {
        const withdrawal = open[step.of]!.pop()
        if (withdrawal === undefined) break
        retries--
        members[step.of]!.refund(withdrawal)
        break
      }
      case "Fault":
        troubles[step.of]!.next.push(step.fault)
        break
      case "Pause":
        await pause(step.millis)
        break
      case "Forget":
        forgotten = true
        await forget(members[0]!, await keysOf(members[0]!, name))
        break
      case "Evict":
        forgotten = true
        await forget(members[0]!, (await keysOf(members[0]!, name)).toSorted().slice(step.key, step.key + 1))
    }
  }
  for (const { next } of troubles) next.length = 0
  await Promise.all(troubles.flatMap(({ late }) => late))
  const witness = await join({ url: server.url }, options)
  const expected = ratio * requests - retries
  const balance = await settled(witness, expected)
  await Promise.all([...members, witness].map((member) => member.close()))
  return {
    balance,
    expected,
    // Who denies while Redis is away makes no retry but those that Redis has granted, and these are never too many.
    overdrawn: whileAway === "share" || forgotten ? [] : overdrawn
  }
}

describe.skipIf(!hasRedis)("whatever happens to commands and answers", () => {
  it.each(["share", "deny"] as const)(
    "every request and every retry counts once in the end (%s)",
    async (whileAway) => {
      const played = samples(cases, 24)
      const results = await Promise.all(played.map((steps) => play(steps, whileAway)))
      results.forEach(({ balance, expected, overdrawn }, index) =>
        expect({ balance, overdrawn, steps: played[index] }).toEqual({
          balance: expected,
          overdrawn: [],
          steps: played[index]
        })
      )
    }
  )
})

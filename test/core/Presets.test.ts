/**
 * Each preset against its published formula, written out here from its source and from nothing else: in seconds, with
 * `random` as the source has it, where retry 1 is the first.
 */
import { describe, expect, it } from "@effect/vitest"
import { Plan, Policy, Presets, Transience } from "@reprise/core"
import { Result } from "effect"

const throttled = { status: 429 }

/** The first ten waits in milliseconds, all drawn alike. Attempts and time stand still, so no limit ends them. */
const firstTen = (policy: Policy.Any, random: number, input?: unknown): ReadonlyArray<number> => {
  const stepper = Policy.stepper(policy)
  const state = stepper.start()
  const failure = { attempt: 1, elapsed: 0, now: 0, timedOut: false }
  return Array.from(
    { length: 10 },
    () => stepper.step(state, failure, input, { nextDoubleUnsafe: () => random })
  )
}

type Formula = (retry: number, random: number) => number

/** The exponent counts from 0. */
const power = (base: number, retry: number): number => base ** (retry - 1)

const formulas: Readonly<Record<Presets.Name, Formula>> = {
  standard: (retry, random) => random * Math.min(0.2 * power(2, retry), 5),
  http: (retry, random) => random * Math.min(0.2 * power(2, retry), 5),
  // The same growth as in the published experiment, whose base of 5 ms is doubled before the first wait.
  database: (retry, random) => random * Math.min(0.005 * 2 ** retry, 1),
  // base "rand", growth_factor 2
  "aws-legacy": (retry, random) => random * power(2, retry),
  // random() * min(2 ** (attempt_number - 1), 20)
  "aws-standard": (retry, random) => random * Math.min(power(2, retry), 20),
  // random() * min(0.05 * 2 ** (attempt_number - 1), 20)
  "aws-2026": (retry, random) => random * Math.min(0.05 * power(2, retry), 20),
  // random() % min(25 ms doubled, 250 ms)
  envoy: (retry, random) => random * Math.min(0.025 * power(2, retry), 0.25),
  // random() * delay, delay = min(delay * 1.3, 60 s)
  "google-gax": (retry, random) => random * Math.min(0.1 * power(1.3, retry), 60),
  // min(initialBackoff * backoffMultiplier ** (n - 1), maxBackoff) * random(0.8, 1.2); the cap holds afterwards as well
  grpc: (retry, random) => Math.min(Math.min(0.1 * power(2, retry), 1) * (0.8 + 0.4 * random), 1),
  // 10 s doubled, at most six minutes
  "kubernetes-job": (retry) => Math.min(10 * power(2, retry), 360),
  // (count ** 4) + 15 + rand(10 * (count + 1)), count from 0
  sidekiq: (retry, random) => (retry - 1) ** 4 + 15 + random * 10 * retry,
  // max(0.5, min(0.5 * 2 ** (numRetries - 1), 5) * 0.5 * (1 + random())), numRetries from 1
  stripe: (retry, random) => Math.max(0.5, Math.min(0.5 * power(2, retry), 5) * 0.5 * (1 + random)),
  // initialInterval * backoffCoefficient ** (attempt - 1), at most 100 times the first
  temporal: (retry) => Math.min(power(2, retry), 100)
}

const names = Object.keys(formulas) as ReadonlyArray<Presets.Name> // The record has no other keys.

const published = (formula: Formula, random: number): ReadonlyArray<unknown> =>
  Array.from({ length: 10 }, (_, index) => expect.closeTo(formula(index + 1, random) * 1000, 6))

describe("the first ten waits are the published ones", () => {
  it.each(names)("%s: at least, in the middle, at most", (name) => {
    for (const random of [0, 0.25, 0.5, 1 - 2 ** -53]) {
      expect(firstTen(Presets.all[name].policy, random)).toEqual(published(formulas[name], random))
    }
  })

  it("aws-2026 when throttled", () => {
    expect(Transience.isThrottled(throttled)).toBe(true)
    for (const random of [0, 0.5, 1 - 2 ** -53]) {
      expect(firstTen(Presets.aws2026, random, throttled)).toEqual(published(formulas["aws-standard"], random))
    }
  })

  it("as numbers, where nothing is drawn", () => {
    const seconds = (policy: Policy.Any) => firstTen(policy, 0).map((_) => _ / 1000)
    expect(seconds(Presets.temporal)).toEqual([1, 2, 4, 8, 16, 32, 64, 100, 100, 100])
    expect(seconds(Presets.kubernetesJob)).toEqual([10, 20, 40, 80, 160, 320, 360, 360, 360, 360])
    expect(seconds(Presets.sidekiq)).toEqual([15, 16, 31, 96, 271, 640, 1311, 2416, 4111, 6576])
  })
})

describe("what they load, as their docs say", () => {
  const plan = (name: Presets.Name) => Result.getOrThrow(Plan.of(Presets.all[name].policy))

  it.each<[name: Presets.Name, executions: number, longest: number]>([
    ["standard", 3, 600],
    ["http", 3, 600],
    ["database", 8, 1270],
    ["aws-legacy", 5, 15_000],
    ["aws-standard", 3, 3000],
    ["aws-2026", 3, 150],
    ["envoy", 2, 25],
    ["grpc", 4, 840],
    ["kubernetes-job", 7, 630_000],
    ["stripe", 3, 1500]
  ])("%s: %i executions, at most %i ms of waiting", (name, executions, longest) => {
    expect(plan(name)).toMatchObject({ amplification: executions, total: { max: longest } })
  })

  it("sidekiq: 26 executions in 20.4 days", () => {
    const { amplification, total } = plan("sidekiq") as Plan.Limited // It is, by the amplification.
    const days = (millis: number) => (millis / 86_400_000).toFixed(1)
    expect(total.precision).toBe("computed")
    expect([amplification, days(total.min), days(total.mean), days(total.max)]).toEqual([26, "20.4", "20.4", "20.4"])
  })

  it("google-gax: 42 executions in the mean, in ten minutes", () => {
    const found = plan("google-gax")
    if (found._tag !== "TimeLimited") throw new Error(found._tag)
    expect(Math.round(found.amplification)).toBe(42)
    expect(found.total.max).toBe(600_000)
  })

  it("temporal: no limit", () => {
    expect(plan("temporal")._tag).toBe("Unlimited")
  })
})

describe("Presets.all", () => {
  it.each(Object.entries(Presets.all))("%s is a kebab-case name with its source and a note", (name, preset) => {
    expect(name).toMatch(/^[a-z0-9]+(?:-[a-z0-9]+)*$/)
    expect(preset.source).not.toBe("")
    expect(preset.note).not.toBe("")
  })

  it("has every exported preset under its name", () => {
    const kebab = (name: string) => name.replace(/[A-Z]|\d+/g, (found) => `-${found.toLowerCase()}`)
    const exported = Object.entries(Presets).flatMap(([name, value]) => Policy.isPolicy(value) ? [kebab(name)] : [])
    expect(Object.keys(Presets.all).toSorted()).toEqual(["standard", ...exported].toSorted())
  })

  it.each(names)("%s is what its notation says", (name) => {
    const { policy } = Presets.all[name]
    const read = Policy.parse(Policy.format(policy), { predicates: { throttled: Transience.isThrottled } })
    expect(Result.getOrThrow(read).spec).toEqual(policy.spec)
  })
})

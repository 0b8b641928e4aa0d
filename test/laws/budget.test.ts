import { describe, expect, it } from "@effect/vitest"
import { RetryBudget } from "@reprise/core"
import * as fc from "fast-check"
import { type Meter, meterOf, take, type Withdrawal } from "../core/budget/meter.ts"
import * as models from "../core/budget/models.ts"
import { forAll } from "./forAll.ts"

/** What may happen to a budget, one after the other. A pick says which of those that wait, or run, it happens to. */
type Step =
  | { readonly _tag: "wait"; readonly millis: number }
  | { readonly _tag: "request" | "failure" | "withdraw" | "enter" | "exit" | "read"; readonly times: number }
  | { readonly _tag: "refund" | "start" | "settle" | "success"; readonly pick: number }

const step = (window: number): fc.Arbitrary<Step> =>
  fc.oneof(
    fc.record({
      _tag: fc.constant("wait" as const),
      millis: fc.oneof(
        fc.integer({ min: 0, max: window / 5 }),
        fc.constantFrom(1, window / 10, window - 1, window, window + 1, window * 1.1, 3 * window)
      )
    }),
    fc.record({
      _tag: fc.constantFrom("request", "failure", "withdraw", "enter", "exit", "read" as const),
      times: fc.integer({ min: 1, max: 12 })
    }),
    fc.record({
      _tag: fc.constantFrom("refund", "start", "settle", "success" as const),
      pick: fc.nat({ max: 20 })
    })
  )

const steps = fc.constantFrom(1000, 10_000).chain((window) =>
  fc.record({ window: fc.constant(window), steps: fc.array(step(window), { maxLength: 40, size: "max" }) })
)

/** Takes the steps with a budget, writes down what happened, and tells where the budget and the model differ. */
const follow = (
  meter: Meter,
  model: models.Model,
  steps: ReadonlyArray<Step>,
  { grants = (balance) => balance >= 1, near = 0 }: {
    readonly grants?: (balance: number) => boolean
    readonly near?: number
  } = {}
): ReadonlyArray<string> => {
  const differences: Array<string> = []
  const events: Array<models.Event> = []
  const waiting: Array<{ readonly id: number; readonly withdrawal: Withdrawal }> = []
  const running: typeof waiting = []
  const over: typeof waiting = []
  let now = 1_000_000
  let active = 0
  const log = (_tag: "request" | "failure" | "taken" | "entered" | "exited" | "read"): number => {
    events.push({ _tag, at: now, id: events.length })
    return events.length - 1
  }
  const pickOf = (from: typeof waiting, pick: number) =>
    from.length === 0 ? undefined : from.splice(pick % from.length, 1)[0]

  const withdraw = (): void => {
    const before = model(events, now)
    const withdrawal = take(meter, now)
    // The fractions of one model are not exact.
    if (grants(before - near) === grants(before + near) && grants(before) !== (withdrawal !== undefined)) {
      differences.push(`at ${now}: ${before} and ${withdrawal === undefined ? "no" : "a"} retry`)
    }
    if (withdrawal === undefined) log("read")
    else waiting.push({ id: log("taken"), withdrawal })
  }
  const change = (step: Step): void => {
    switch (step._tag) {
      case "wait":
        now += step.millis
        return
      case "refund": {
        // Of one that has started, or was given back, nothing comes back.
        const [old] = over
        if (old !== undefined) meter.refund(now, old.withdrawal)
        const one = pickOf(waiting, step.pick)
        if (one === undefined) return
        meter.refund(now, one.withdrawal)
        events.push({ _tag: "refunded", at: now, id: events.length, of: one.id })
        over.push(one)
        return
      }
      case "start": {
        const one = pickOf(waiting, step.pick)
        if (one === undefined) return
        const started = meter.start(now, one.withdrawal) === 0
        events.push({ _tag: "started", at: now, id: events.length, of: one.id })
        if (started) running.push(one)
        else waiting.push(one)
        return
      }
      case "settle": {
        const one = pickOf(running, step.pick)
        if (one === undefined) return
        meter.settle?.(one.withdrawal)
        events.push({ _tag: "settled", at: now, id: events.length, of: one.id })
        over.push(one)
        return
      }
      case "success": {
        const one = step.pick % 2 === 0
          ? undefined
          : over.find(({ id }) => events.every((_) => _._tag !== "refunded" || _.of !== id))
        meter.success?.(now, one?.withdrawal)
        events.push({ _tag: "success", at: now, id: events.length, last: one?.id })
        return
      }
      default:
    }
    for (let i = 0; i < step.times; i++) {
      switch (step._tag) {
        case "request":
          meter.request(now)
          log("request")
          break
        case "failure":
          meter.failure?.(now)
          log("failure")
          break
        case "withdraw":
          withdraw()
          break
        case "enter":
          meter.enter?.()
          active++
          log("entered")
          break
        case "exit":
          if (active === 0) break
          meter.exit?.()
          active--
          log("exited")
          break
        case "read":
          log("read")
      }
    }
  }
  for (const step of steps) {
    change(step)
    const [found, expected] = [meter.balance(now), model(events, now)]
    if (Math.abs(found - expected) > Math.max(near, 1e-9)) differences.push(`at ${now}: ${found}, not ${expected}`)
    log("read")
  }
  return differences
}

const ratios = fc.constantFrom(0, 0.1, 0.2, 0.3, 1, 2.5)
const perSecond = fc.constantFrom(0, 0.3, 1, 7.5)

describe("the balance is what was earned less what was taken, whatever happens in between:", () => {
  it("make", () => {
    const setting = fc.record({
      ratio: ratios,
      minPerSecond: perSecond,
      initial: fc.constantFrom(0, 1, 2.5),
      drawn: fc.constantFrom(0, 0.25, 0.5, 0.97)
    })
    forAll([setting, steps], (setting, { steps, window }) => {
      const { drawn, ...options } = { ...setting, window }
      expect(
        follow(meterOf(RetryBudget.make(options), drawn), models.topUp({ ...options, drawn }), steps, { near: 1e-4 })
      ).toEqual([])
    }, 300)
  })

  it("ratio", () => {
    forAll([fc.record({ ratio: ratios, minPerSecond: perSecond }), steps], (setting, { steps, window }) => {
      const options = { ...setting, window }
      expect(follow(meterOf(RetryBudget.ratio(options)), models.ratio(options), steps)).toEqual([])
    }, 300)
  })

  it("throttle", () => {
    const setting = fc.record({ maxTokens: fc.constantFrom(1, 10, 2.5, 7), tokenRatio: fc.constantFrom(0.1, 0.57, 2) })
    forAll([setting, steps], (options, { steps }) => {
      const grants = (balance: number): boolean => balance > -1
      expect(follow(meterOf(RetryBudget.throttle(options)), models.throttle(options), steps, { grants })).toEqual([])
    }, 400)
  })

  it("quota", () => {
    const setting = fc.record({ capacity: fc.constantFrom(7, 50), retryCost: fc.constantFrom(1, 5, 8) })
    forAll([setting, steps], (options, { steps }) => {
      expect(follow(meterOf(RetryBudget.quota(options)), models.quota(options), steps)).toEqual([])
    }, 400)
  })

  it("concurrent", () => {
    const setting = fc.record({ percent: fc.constantFrom(0, 20, 12.5, 100), minimum: fc.constantFrom(0, 1, 3) })
    forAll([setting, steps], (options, { steps }) => {
      expect(follow(meterOf(RetryBudget.concurrent(options)), models.concurrent(options), steps)).toEqual([])
    }, 400)
  })
})

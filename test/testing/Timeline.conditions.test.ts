import { describe, expect, it } from "@effect/vitest"
import { InvalidPolicy, Policy } from "@reprise/core"
import { Script, Timeline } from "@reprise/testing"
import { Duration, Effect } from "effect"

const outage = Script.make([Script.fail("no answer")])
const policy = Policy.constant("1 minute").pipe(Policy.attempts(3))

const thrown = (make: () => unknown): unknown => {
  try {
    make()
  } catch (error) {
    return error
  }
  return "nothing was thrown"
}

/** The options come as from JavaScript, which no compiler has checked. */
const refusedBy = {
  record: (options: object) => thrown(() => Timeline.record(outage, policy, options)),
  recordWith: (options: object) => thrown(() => Timeline.recordWith(outage, Effect.retry({ times: 1 }), options))
}
const functions = ["record", "recordWith"] as const

const draw = "a number of at least 0 and below 1"
const draws = "\"lowest\", \"highest\" or a list of draws"
const time = "a duration of at least 0 ms"
const finite = "a finite duration of at least 0 ms"
const duration = "a duration such as \"500 millis\""

const bad: ReadonlyArray<readonly [options: object, argument: string, rule: string, shown: string]> = [
  [{ random: "median" }, "random", draws, "\"median\""],
  [{ random: 0.5 }, "random", draws, "0.5"],
  [{ random: null }, "random", draws, "null"],
  [{ random: [2] }, "random[0]", draw, "2"],
  [{ random: [0.5, 1] }, "random[1]", draw, "1"],
  [{ random: [Number.NaN] }, "random[0]", draw, "NaN"],
  [{ random: [0, 0, -1] }, "random[2]", draw, "-1"],
  [{ random: ["0.5"] }, "random[0]", draw, "\"0.5\""],
  [{ random: Array.from({ length: 1 }) }, "random[0]", draw, "undefined"],
  [{ seed: Number.NaN }, "seed", "a string or a finite number", "NaN"],
  [{ seed: null }, "seed", "a string or a finite number", "null"],
  [{ interruptAfter: "abc" }, "interruptAfter", duration, "\"abc\""],
  [{ interruptAfter: null }, "interruptAfter", duration, "null"],
  [{ interruptAfter: -1 }, "interruptAfter", time, "-1"],
  [{ interruptAfter: Number.NaN }, "interruptAfter", time, "NaN"],
  [{ patience: -1 }, "patience", finite, "-1"],
  [{ patience: Number.NaN }, "patience", finite, "NaN"],
  [{ patience: Infinity }, "patience", finite, "Infinity"],
  [{ patience: "soon" }, "patience", duration, "\"soon\""]
]

describe.each(functions)("Timeline.%s refuses", (name) => {
  it.each(bad)("%o", (options, argument, rule, shown) => {
    const error = refusedBy[name](options)
    expect(error).toSatisfy(InvalidPolicy.is)
    expect(error).toMatchObject({
      argument: `${name}.${argument}`,
      message: `${name}.${argument} must be ${rule}, got ${shown}`
    })
  })

  it("what are no options at all", () => {
    expect(String(refusedBy[name](null as never))).toBe(`InvalidPolicy: ${name}.options must be an object, got null`)
    expect(String(refusedBy[name]("seed" as never))).toContain(`${name}.options must be an object, got "seed"`)
  })
})

describe("a name that is not known", () => {
  it("is refused by record, which names those of a run and the conditions", () => {
    const error = refusedBy.record({ sed: 1 })
    expect(error).toSatisfy(InvalidPolicy.is)
    expect(error).toMatchObject({ argument: "record.sed", value: 1 })
    for (const known of ["name", "attemptTimeout", "when", "onRetry", "seed", "random", "interruptAfter", "patience"]) {
      expect(String(error)).toContain(known)
    }
  })

  it("is refused by recordWith, which names the conditions", () => {
    expect(String(refusedBy.recordWith({ attemptTimeout: 1 }))).toBe(
      "InvalidPolicy: recordWith.attemptTimeout must be one of the options seed, random, interruptAfter, patience, got 1"
    )
  })

  it("is refused whatever it stands for", () => {
    expect(refusedBy.record({ sed: undefined })).toSatisfy(InvalidPolicy.is)
  })
})

describe("the options of a run", () => {
  it("are checked as Retry.run checks them", () => {
    expect(String(refusedBy.record({ when: true }))).toContain("run.when must be a function, got true")
    expect(String(refusedBy.record({ onRetry: 1 }))).toContain("run.onRetry must be a function, got 1")
    expect(String(refusedBy.record({ attemptTimeout: 0 }))).toContain("run.attemptTimeout must be")
  })

  it.effect("must return effects, and say so", () =>
    Effect.gen(function* () {
      const when = (() => true) as never
      const timeline = yield* Timeline.record(outage, policy, { when })
      expect(String(timeline.exit)).toContain("The option \"when\" of a run must return an Effect, got boolean")
    }))
})

describe("what is allowed", () => {
  it.effect("undefined is the default", () =>
    Effect.gen(function* () {
      const conditions = { seed: undefined, random: undefined, interruptAfter: undefined, patience: undefined }
      expect((yield* Timeline.record(outage, policy, conditions)).waits).toEqual([60_000, 60_000])
      const retry = Effect.retry({ times: 1 })
      expect((yield* Timeline.recordWith(outage, retry, conditions)).attempts).toHaveLength(2)
    }))

  it.effect("the bounds are", () =>
    Effect.gen(function* () {
      const random = [0, 1 - Number.EPSILON / 2]
      const jittered = policy.pipe(Policy.jittered)
      const never = { random, interruptAfter: Duration.infinity, patience: 0 } as const
      expect((yield* Timeline.record(outage, jittered, never)).waits).toEqual([0, 60_000])
      const atOnce = yield* Timeline.record(outage, policy, { interruptAfter: 0 })
      expect(atOnce).toMatchObject({ outcome: "Interrupted", elapsed: 0, waits: [60_000] })
    }))

  it.effect("later changes of the list of draws change nothing", () =>
    Effect.gen(function* () {
      const random = [0.5, 0.5]
      const recording = Timeline.record(outage, policy.pipe(Policy.jittered), { random })
      random.fill(7)
      expect((yield* recording).waits).toEqual([30_000, 30_000])
    }))
})

describe("interruptAfter at a time at which something happens", () => {
  it.effect("lets it happen first: the attempt that is due starts, and fails, and the run asks for its wait", () =>
    Effect.gen(function* () {
      const five = Policy.constant("1 minute").pipe(Policy.attempts(5))
      const timeline = yield* Timeline.record(outage, five, { interruptAfter: "3 minutes" })
      expect(timeline.attempts.map(({ start }) => start)).toEqual([0, 60_000, 120_000, 180_000])
      expect(timeline.waits).toEqual([60_000, 60_000, 60_000, 60_000])
      expect(timeline).toMatchObject({ outcome: "Interrupted", elapsed: 180_000 })
      expect(Timeline.render(timeline)).toContain("no answer\", then waited 0ms of 1min\n")
    }))

  it.effect("however many steps that takes", () =>
    Effect.gen(function* () {
      const steps = Effect.forEach(Array.from({ length: 50 }), () => Effect.yieldNow, { discard: true })
      const operation = Effect.andThen(steps, outage)
      const timeline = yield* Timeline.record(operation, policy, { interruptAfter: "1 minute" })
      expect(timeline.attempts.map(({ outcome }) => outcome)).toEqual(["Failure", "Failure"])
      expect(timeline.waits).toEqual([60_000, 60_000])
    }))

  it.effect("an attempt that ends there ends by itself", () =>
    Effect.gen(function* () {
      const slow = Script.make([Script.after("1 second", Script.succeed("ok"))])
      const timeline = yield* Timeline.record(slow, policy, { interruptAfter: "1 second" })
      expect(timeline).toMatchObject({ outcome: "Success", elapsed: 1000 })
    }))
})

describe("Script", () => {
  it("refuses what it cannot repeat", () => {
    for (const n of [-1, 1.5, Number.NaN, Infinity]) {
      const error = thrown(() => Script.times(n, Script.interrupt))
      expect(String(error)).toBe(`InvalidPolicy: times.n must be an integer of at least 0, got ${n}`)
    }
  })

  it("refuses a list without outcomes", () => {
    for (const outcomes of [[], undefined, "fail"]) {
      const error = thrown(() => Script.make(outcomes as never))
      expect(error).toSatisfy(InvalidPolicy.is)
      expect(error).toMatchObject({ argument: "make.outcomes", rule: "a list with at least one element" })
    }
  })
})

describe("Timeline.render", () => {
  it.effect("refuses a width that it cannot draw", () =>
    Effect.gen(function* () {
      const timeline = yield* Timeline.record(outage, policy)
      for (const width of [0, -1, 1.5, Number.NaN]) {
        const error = thrown(() => Timeline.render(timeline, { width }))
        expect(String(error)).toBe(`InvalidPolicy: render.width must be an integer of at least 1, got ${width}`)
      }
      expect(Timeline.render(timeline, { width: 1 })).toContain("1 |x|")
    }))
})

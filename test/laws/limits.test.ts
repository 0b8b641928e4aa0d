import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import * as fc from "fast-check"
import { draws, lengthening, millis, policy, script, scriptWithTimeouts, Timeout, wrapper } from "./generators.ts"
import { forAll } from "./forAll.ts"
import { byStepper, runByEffect, runByRetry } from "./virtualTime.ts"

const count = fc.integer({ min: 1, max: 8 })
const more = fc.integer({ min: 0, max: 5 })

describe("nothing is slept after the last failure (R3)", () => {
  it("by Retry.run", () => {
    forAll([policy, scriptWithTimeouts, draws], (policy, script, draws) => {
      expect(runByRetry(policy, script, draws).log.at(-1)).toBe("attempt")
    })
  })

  it("by Effect.retry", () => {
    forAll([policy, script, draws], (policy, script, draws) => {
      expect(runByEffect(policy, script, draws).log.at(-1)).toBe("attempt")
    })
  })

  it("by Retry.run, where a jitter outside of a within lengthens the wait", () => {
    forAll(
      [policy, millis(200, 8000), lengthening, wrapper, script, draws],
      (policy, duration, lengthen, wrap, script, draws) => {
        const { log } = runByRetry(wrap(lengthen(Policy.within(policy, duration))), script, draws)
        expect(log.at(-1)).toBe("attempt")
      }
    )
  })

  it("four attempts are three sleeps", () => {
    const failures = Array.from({ length: 9 }, () => ({
      error: new Timeout({ level: 1 }),
      hint: "none" as const,
      took: 5,
      timedOut: false
    }))
    const { log } = runByRetry(Policy.constant(10).pipe(Policy.attempts(4)), failures, () => 0)
    expect(log).toEqual(["attempt", "sleep", "attempt", "sleep", "attempt", "sleep", "attempt"])
  })
})

describe("within (R4)", () => {
  it("starts no retry later, wherever it stands in the pipe, by Retry.run", () => {
    forAll(
      [policy, millis(200, 8000), lengthening, wrapper, scriptWithTimeouts, draws],
      (policy, duration, first, second, script, draws) => {
        const { starts } = runByRetry(second(first(Policy.within(policy, duration))), script, draws)
        expect(Math.max(0, ...starts.slice(1))).toBeLessThanOrEqual(duration)
      }
    )
  })

  it("starts no retry later, wherever it stands in the pipe, by Effect.retry", () => {
    forAll(
      [policy, millis(200, 8000), lengthening, wrapper, script, draws],
      (policy, duration, first, second, script, draws) => {
        const { starts } = runByEffect(second(first(Policy.within(policy, duration))), script, draws)
        expect(Math.max(0, ...starts.slice(1))).toBeLessThanOrEqual(duration)
      }
    )
  })

  it("means the same before and after any combinator", () => {
    forAll(
      [policy, millis(200, 8000), wrapper, scriptWithTimeouts, draws],
      (policy, duration, wrap, script, draws) => {
        const inside = wrap(Policy.within(policy, duration))
        const outside = Policy.within(wrap(policy), duration)
        expect(byStepper(inside, script, draws)).toEqual(byStepper(outside, script, draws))
      }
    )
  })

  it("counts a jitter that stands outside of it", () => {
    const policy = Policy.constant(800).pipe(Policy.within(1000), Policy.jitteredWith({ min: 2, max: 2 }))
    expect(byStepper(policy, failuresOf(1), () => 0)).toEqual({ attempts: 1, waits: [], end: "Elapsed" })
  })

  it("counts the longer wait of another member of max", () => {
    const policy = Policy.max([Policy.constant(100).pipe(Policy.within(1000)), Policy.constant(5000)])
    expect(byStepper(policy, failuresOf(1), () => 0)).toEqual({ attempts: 1, waits: [], end: "Elapsed" })
  })

  it("counts a jitter inside of concat, which moves on", () => {
    const late = Policy.constant(800).pipe(Policy.within(1000), Policy.jitteredWith({ min: 2, max: 2 }))
    const policy = Policy.concat(late, Policy.constant(300))
    expect(byStepper(policy, failuresOf(1), () => 0).waits).toEqual([300])
  })

  it("allows a retry at the very end", () => {
    const policy = Policy.constant(500).pipe(Policy.within(1000))
    expect(byStepper(policy, failuresOf(3), () => 0)).toEqual({ attempts: 3, waits: [500, 500], end: "Elapsed" })
  })
})

const failuresOf = (length: number) =>
  Array.from({ length }, () => ({
    error: new Timeout({ level: 1 }),
    hint: "none" as const,
    took: 0,
    timedOut: false
  }))

describe("attempts and recurs (R6)", () => {
  it("attempts means the same before and after any combinator", () => {
    forAll([policy, count, wrapper, scriptWithTimeouts, draws], (policy, n, wrap, script, draws) => {
      const inside = wrap(Policy.attempts(policy, n))
      const outside = Policy.attempts(wrap(policy), n)
      expect(byStepper(inside, script, draws)).toEqual(byStepper(outside, script, draws))
    })
  })

  it("attempts(n) is at most n executions, by Retry.run", () => {
    forAll([policy, count, scriptWithTimeouts, draws], (policy, n, script, draws) => {
      expect(runByRetry(Policy.attempts(policy, n), script, draws).attempts).toBeLessThanOrEqual(n)
    })
  })

  it("recurs(n) alone is attempts(n + 1)", () => {
    forAll([policy, count, scriptWithTimeouts, draws], (policy, n, script, draws) => {
      const recurs = byStepper(Policy.recurs(policy, n), script, draws)
      expect(recurs).toEqual(byStepper(Policy.attempts(policy, n + 1), script, draws))
    })
  })

  it("inside concat attempts reads the run, and recurs its own place", () => {
    const [first, second] = [Policy.constant(100), Policy.constant(200)]
    const byAttempts = Policy.concat(Policy.attempts(first, 3), Policy.attempts(second, 3))
    const byRecurs = Policy.concat(Policy.recurs(first, 2), Policy.recurs(second, 2))
    expect(byStepper(byAttempts, failuresOf(9), () => 0).waits).toEqual([100, 100])
    expect(byStepper(byRecurs, failuresOf(9), () => 0).waits).toEqual([100, 100, 200, 200])
  })

  it("inside concat within counts from the start of the run", () => {
    const policy = Policy.concat(
      Policy.constant(400).pipe(Policy.recurs(2)),
      Policy.constant(100).pipe(Policy.within(1000))
    )
    expect(byStepper(policy, failuresOf(9), () => 0).waits).toEqual([400, 400, 100, 100])
  })

  it("recurs counts only retries granted through its own place", () => {
    const policy = Policy.min([
      Policy.constant(100).pipe(Policy.recurs(2), Policy.whileTag("Timeout")),
      Policy.constant(300)
    ])
    const [timeout] = failuresOf(1)
    const other = { ...timeout!, error: new Error("untagged") }
    const { waits } = byStepper(policy, [timeout!, other, other, timeout!, timeout!], () => 0)
    expect(waits).toEqual([100, 300, 300, 100, 300])
  })
})

describe("a wider limit never yields fewer retries", () => {
  it("attempts", () => {
    forAll([policy, count, more, scriptWithTimeouts, draws], (policy, n, more, script, draws) => {
      const narrow = byStepper(Policy.attempts(policy, n), script, draws)
      const wide = byStepper(Policy.attempts(policy, n + more), script, draws)
      expect(wide.waits.slice(0, narrow.waits.length)).toEqual(narrow.waits)
    })
  })

  it("recurs", () => {
    forAll([policy, count, more, scriptWithTimeouts, draws], (policy, n, more, script, draws) => {
      const narrow = byStepper(Policy.recurs(policy, n), script, draws)
      const wide = byStepper(Policy.recurs(policy, n + more), script, draws)
      expect(wide.waits.slice(0, narrow.waits.length)).toEqual(narrow.waits)
    })
  })

  it("within", () => {
    forAll(
      [policy, millis(200, 15_000), millis(0, 5000), scriptWithTimeouts, draws],
      (policy, duration, more, script, draws) => {
        const narrow = byStepper(Policy.within(policy, duration), script, draws)
        const wide = byStepper(Policy.within(policy, duration + more), script, draws)
        expect(wide.waits.slice(0, narrow.waits.length)).toEqual(narrow.waits)
      }
    )
  })
})

describe("a policy holds no run (R10, R11)", () => {
  it("same draws, same delays, again and again", () => {
    forAll([policy, script, script, draws], (policy, script, other, draws) => {
      const first = byStepper(policy, script, draws)
      byStepper(policy, other, draws)
      expect(byStepper(policy, script, draws)).toEqual(first)
    })
  })

  it("two runs that take turns do not see each other", () => {
    forAll([policy, script, draws], (policy, script, draws) => {
      const stepper = Policy.stepper(policy)
      const runs = [0, 1].map(() => {
        const state = stepper.start()
        let drawn = 0
        const random = { nextDoubleUnsafe: () => draws(drawn++) }
        return (attempt: number, error: unknown) =>
          stepper.step(state, { attempt, elapsed: 0, now: 0, timedOut: false }, error, random)
      })
      for (const [index, { error }] of script.entries()) {
        const [one, other] = runs.map((step) => step(index + 1, error))
        expect(one).toBe(other)
      }
    })
  })
})

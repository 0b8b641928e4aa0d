/** The order of draws, as `Stepper.Source` documents it. A list holds as many numbers as may be drawn. */
import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"
import { Busy, Timeout } from "./generators.ts"

/** The wait after a first failure, and how many numbers were drawn for it. */
const waitWith = (policy: Policy.Any, draws: ReadonlyArray<number>, error: unknown = new Timeout({ level: 1 })) => {
  const stepper = Policy.stepper(policy)
  let drawn = 0
  const random = { nextDoubleUnsafe: () => draws[drawn++] ?? expect.fail("One draw too many") }
  const wait = stepper.step(stepper.start(), { attempt: 1, elapsed: 0, now: 0, timedOut: false }, error, random)
  return { wait: Math.round(wait * 1e6) / 1e6, drawn }
}

const slow = Policy.constant(1000).pipe(Policy.jittered)
const fast = Policy.constant(100).pipe(Policy.jittered)

describe("the order of draws (R11)", () => {
  const hinting = Policy.honoringRetryAfter(Policy.jittered(slow))

  it("the spread of a hint first, then from the inside of the pipe to its outside", () => {
    const error = new Busy({ level: 1, retryAfter: 1000 })
    expect(waitWith(hinting, [0.1, 0.2, 0.3], error)).toEqual({ wait: 1000 + 10 + 60, drawn: 3 })
  })

  it("none for a hint of zero", () => {
    const error = new Busy({ level: 1, retryAfter: 0 })
    expect(waitWith(hinting, [0.2, 0.3], error)).toEqual({ wait: 60, drawn: 2 })
  })

  it("none for an error without a hint", () => {
    expect(waitWith(hinting, [0.2, 0.3])).toEqual({ wait: 60, drawn: 2 })
  })

  it("members of a combination from left to right", () => {
    expect(waitWith(Policy.max([slow, fast]), [0.2, 0.9])).toEqual({ wait: 200, drawn: 2 })
    expect(waitWith(Policy.max([fast, slow]), [0.2, 0.9])).toEqual({ wait: 900, drawn: 2 })
    expect(waitWith(Policy.min([slow, fast]), [0.2, 0.9])).toEqual({ wait: 90, drawn: 2 })
  })

  it("decorrelated draws once, and a jitter around it once more", () => {
    const policy = Policy.decorrelated({ base: 100, cap: 1000 }).pipe(Policy.jittered)
    expect(waitWith(policy, [0.5, 0.1])).toEqual({ wait: 20, drawn: 2 })
  })

  it.each(
    [
      ["attempts outside of it", slow.pipe(Policy.attempts(1))],
      ["attempts inside of it", Policy.constant(1000).pipe(Policy.attempts(1), Policy.jittered)],
      ["recurs outside of it", slow.pipe(Policy.recurs(0))],
      ["recurs inside of it", Policy.constant(1000).pipe(Policy.recurs(0), Policy.jittered)],
      ["a rejected error", slow.pipe(Policy.whileTag("Busy"))],
      ["none", Policy.jittered(Policy.none)]
    ] as const
  )("a jitter draws nothing at %s", (_, stopped) => {
    expect(waitWith(Policy.min([stopped, fast]), [0.2])).toEqual({ wait: 20, drawn: 1 })
    expect(waitWith(Policy.concat(stopped, fast), [0.2])).toEqual({ wait: 20, drawn: 1 })
  })

  it("a within judges what was drawn, inside of the jitter as outside", () => {
    const outside = slow.pipe(Policy.within(500))
    const inside = Policy.constant(1000).pipe(Policy.within(500), Policy.jittered)
    for (const policy of [outside, inside]) {
      expect(waitWith(Policy.min([policy, fast]), [0.9, 0.2])).toEqual({ wait: 20, drawn: 2 })
      expect(waitWith(Policy.max([policy, fast]), [0.3, 0.2])).toEqual({ wait: 300, drawn: 2 })
    }
  })

  it("every member of max draws, also past one that stops", () => {
    const stops = Policy.max([Policy.constant(1000).pipe(Policy.recurs(0)), slow])
    expect(waitWith(Policy.min([stops, fast]), [0.9, 0.2])).toEqual({ wait: 20, drawn: 2 })
  })

  it("of byInput only the branch of the error draws", () => {
    const policy = Policy.byInput([["isBusy", (error: unknown) => error instanceof Busy, slow]], fast)
    expect(waitWith(policy, [0.2])).toEqual({ wait: 20, drawn: 1 })
  })

  it("nothing for an error that is rejected", () => {
    expect(waitWith(hinting.pipe(Policy.whileTag("Busy")), []).drawn).toBe(0)
  })
})

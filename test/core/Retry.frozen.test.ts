// R2: after the wait the elapsed limit, the deadline and the switch are asked once more, and then the pace of the
// budget, so that a process that was frozen makes no late attempt. A real process is frozen in test/process.
import { describe, expect, it } from "@effect/vitest"
import { Deadline, Policy, Retry, RetryBudget, RetryControl, RetryEvents } from "@reprise/core"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { exhaustion } from "./exits.ts"
import { recordWith } from "./Recording.ts"
import * as VirtualClock from "./VirtualClock.ts"

class Busy extends Data.TaggedError("Busy")<{ readonly retryAfter?: string }> {}

const busy = Effect.fail(new Busy({}))
const second = Policy.constant("1 second")

/** A clock under which every wait lasts 30 seconds longer than it was asked to. */
const frozen = () => VirtualClock.frozenFor(30_000)

/** A clock under which something happens in each wait. */
const meanwhile = (happen: (wait: number) => void): VirtualClock.VirtualClock => {
  const clock = VirtualClock.instant()
  let wait = 0
  return { ...clock, sleep: (duration) => Effect.tap(clock.sleep(duration), () => Effect.sync(() => happen(++wait))) }
}

const set = (control: RetryControl.RetryControl, state: RetryControl.State) =>
  Effect.runSync(Effect.provide(control.set(state), Logger.layer([])))

describe("R2: a process that was frozen in a wait", () => {
  it("past the elapsed limit makes no late attempt, whatever the limit stands in", () => {
    const policies = [
      second.pipe(Policy.attempts(5), Policy.within("10 seconds")),
      second.pipe(Policy.within("10 seconds"), Policy.jittered),
      Policy.max([second, Policy.within(second, "10 seconds")])
    ]
    for (const policy of policies) {
      const { attempts, exit } = recordWith(() => busy, Retry.run(policy), { clock: frozen() })
      expect([Policy.format(policy), attempts, exhaustion(exit).reason._tag]).toEqual([
        Policy.format(policy),
        1,
        "Elapsed"
      ])
    }
  })

  it("no longer than what is left goes on", () => {
    const { attempts } = recordWith(
      () => busy,
      (self) => self.pipe(Retry.run(Policy.attempts(second, 3)), Deadline.within("62001 millis")),
      { clock: frozen() }
    )
    expect(attempts).toBe(3)
  })

  it("says how long it took, and that the wait was slept", () => {
    const { exit } = recordWith(() => busy, Retry.run(second.pipe(Policy.within("10 seconds"))), { clock: frozen() })
    const { attempts, elapsed, waits } = exhaustion(exit)
    expect([attempts, waits.count, Duration.toMillis(elapsed)]).toEqual([1, 1, 31_000])
  })

  it("makes no late attempt after a hint either", () => {
    const { attempts, exit } = recordWith(
      () => Effect.fail(new Busy({ retryAfter: "5 seconds" })),
      (self) =>
        self.pipe(
          Retry.run(second.pipe(Policy.honoringRetryAfter(), Policy.attempts(5))),
          Deadline.within("20 seconds")
        ),
      { clock: frozen() }
    )
    expect([attempts, exhaustion(exit).reason._tag]).toEqual([1, "Deadline"])
  })

  it("gives its budget back what the retry that never started took", () => {
    const budget = RetryBudget.quota({ capacity: 5, retryCost: 1, timeoutCost: 1, perOperation: 1 })
    recordWith(() => busy, Retry.run(second.pipe(Policy.within("10 seconds")), { budget }), { clock: frozen() })
    expect(Effect.runSync(RetryBudget.balance(budget))).toBe(5)
  })

  it("tells of the end, and of no attempt that failed", () => {
    const seen: Array<string> = []
    const observer = RetryEvents.observer({
      event: (event) => void seen.push(event._tag),
      retried: () => void seen.push("retried")
    })
    recordWith(
      () => busy,
      (self) =>
        Retry.run(self, second.pipe(Policy.within("10 seconds"))).pipe(Effect.provide(RetryEvents.layer([observer]))),
      { clock: frozen() }
    )
    expect(seen).toEqual(["AttemptFailed", "RetryScheduled", "Exhausted"])
  })
})

describe("R2: retries that are switched off in a wait", () => {
  const off = (state: RetryControl.State, options?: Retry.Options<Busy>) => {
    const control = RetryControl.make()
    return recordWith(
      () => busy,
      (self) =>
        Retry.run(self, Policy.attempts(second, 5), options ?? {}).pipe(Effect.provide(RetryControl.layer(control))),
      { clock: meanwhile((wait) => wait === 2 ? set(control, state) : undefined) }
    )
  }

  it("do not start after it", () => {
    const { attempts, exit, waits } = off({ retries: "off" })
    expect([attempts, waits.length, exhaustion(exit).reason._tag]).toEqual([2, 2, "SwitchedOff"])
  })

  it("do not start after it where their operation or origin is switched off", () => {
    const origin = "https://api.example.com"
    expect(off({ operations: { charge: { retries: "off" } } }, { name: "charge" }).attempts).toBe(2)
    expect(off({ origins: { [origin]: { retries: "off" } } }, { origin }).attempts).toBe(2)
    expect(off({ operations: { search: { retries: "off" } } }, { name: "charge" }).attempts).toBe(5)
  })

  it("give the budget back what they took", () => {
    const budget = RetryBudget.quota({ capacity: 5, retryCost: 1, timeoutCost: 1, perOperation: 1 })
    off({ retries: "off" }, { budget })
    expect(Effect.runSync(RetryBudget.balance(budget))).toBe(4)
  })
})

describe("R2: a process that was frozen at the pace of its budget", () => {
  /** One retry a second, and there is one that has just started. */
  const paced = (
    driver: (self: Effect.Effect<never, Busy>, budget: RetryBudget.RetryBudget) => Effect.Effect<unknown, unknown>
  ) => {
    const budget = RetryBudget.ratio({ ratio: 0, minPerSecond: 1, perOperation: 1, window: "60 seconds" })
    let waits = 0
    const clock = VirtualClock.instant()
    const late: VirtualClock.VirtualClock = {
      ...clock,
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      sleep: (duration) =>
        // The second wait of the run is the one for its pace.
        Effect.tap(clock.sleep(duration), () =>
          Effect.sync(() => {
            if (++waits === 2) clock.now += 30_000
          }))
    }
    const first = Retry.run(busy, Policy.immediate(1), { budget })
    let attempts = 0
    const counted = Effect.suspend(() => {
      attempts++
      return busy
    })
    const exit = Effect.runSyncExit(
      Effect.andThen(Effect.exit(first), driver(counted, budget)).pipe(Effect.provideService(Clock.Clock, late))
    )
    return { attempts, exit, waits, balance: Effect.runSync(VirtualClock.provide(late)(RetryBudget.balance(budget))) }
  }
  const short = Policy.constant("10 millis").pipe(Policy.attempts(2))

  it("past the deadline makes no late attempt, and takes nothing", () => {
    const { attempts, balance, exit, waits } = paced((self, budget) =>
      self.pipe(Retry.run(short, { budget }), Deadline.within("10 seconds"))
    )
    expect([attempts, waits, exhaustion(exit).reason._tag, balance]).toEqual([1, 2, "Deadline", 59])
  })

  it("R4: nor is the pace waited for past the deadline", () => {
    const { attempts, balance, exit, waits } = paced((self, budget) =>
      self.pipe(Retry.run(short, { budget }), Deadline.within("500 millis"))
    )
    expect([attempts, waits, exhaustion(exit).reason._tag, balance]).toEqual([1, 1, "Deadline", 59])
  })

  it("in time goes on", () => {
    const { attempts, balance } = paced((self, budget) => self.pipe(Retry.run(short, { budget })))
    expect([attempts, balance]).toEqual([2, 58])
  })
})

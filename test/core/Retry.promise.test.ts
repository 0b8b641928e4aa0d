import { describe, expect, it } from "@effect/vitest"
import { Policy, Retry, RetryBudget, RetryExhausted } from "@reprise/core"
import * as Effect from "effect/Effect"

const quick = Policy.delays(["1 millis", "1 millis"])

const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error("It was fulfilled")
}

describe("Retry.promise", () => {
  it("calls again until the promise is fulfilled, and tells the attempt", async () => {
    const seen: Array<readonly [number, unknown]> = []
    const result = await Retry.promise(({ number, previous }) => {
      seen.push([number, previous])
      return number < 3 ? Promise.reject(`failed ${number}`) : Promise.resolve("done")
    }, quick)
    expect(result).toBe("done")
    expect(seen).toEqual([[1, undefined], [2, "failed 1"], [3, "failed 2"]])
  })

  it("rejects with RetryExhausted, whose cause is the last error", async () => {
    const error = await rejection(Retry.promise(() => Promise.reject(new Error("busy")), quick, { name: "fetch" }))
    expect(RetryExhausted.is(error)).toBe(true)
    expect((error as RetryExhausted.RetryExhausted).attempts).toBe(3)
    expect(((error as Error).cause as Error).message).toBe("busy")
    expect(String(error)).toContain("fetch gave up after 3 attempts")
  })

  it("rejects with the error itself where it is not worth a retry", async () => {
    const terminal = new Error("no such user")
    const policy = quick.pipe(Policy.whileInput((error) => error !== terminal, "notTerminal"))
    expect(await rejection(Retry.promise(() => Promise.reject(terminal), policy))).toBe(terminal)
  })

  it("takes a function that returns no promise, or throws", async () => {
    expect(await Retry.promise(() => 1, quick)).toBe(1)
    const error = await rejection(Retry.promise(() => {
      throw new Error("thrown")
    }, quick))
    expect(((error as Error).cause as Error).message).toBe("thrown")
  })

  it("an abort ends an attempt at once, with its reason, and is not retried", async () => {
    const controller = new AbortController()
    let attempts = 0
    let inner: AbortSignal | undefined
    const running = Retry.promise(
      ({ signal }) => {
        attempts++
        inner = signal
        return new Promise(() => {})
      },
      quick,
      { signal: controller.signal }
    )
    await Promise.resolve()
    controller.abort(new Error("went away"))
    expect(await rejection(running)).toEqual(new Error("went away"))
    expect(attempts).toBe(1)
    expect(inner?.aborted).toBe(true)
  })

  it("an abort ends a wait at once", async () => {
    const controller = new AbortController()
    const policy = Policy.constant("1 hour").pipe(Policy.attempts(2))
    const running = Retry.promise(() => Promise.reject(new Error("busy")), policy, {
      signal: controller.signal,
      onRetry: () => {
        setTimeout(() => controller.abort("enough"), 1)
      }
    })
    expect(await rejection(running)).toBe("enough")
  })

  it("a signal that is aborted already calls nothing", async () => {
    let attempts = 0
    const error = await rejection(Retry.promise(() => attempts++, quick, { signal: AbortSignal.abort("gone") }))
    expect([error, attempts]).toEqual(["gone", 0])
  })

  it("an attempt timeout is retried, and aborts the attempt's signal", async () => {
    const signals: Array<AbortSignal> = []
    const result = await Retry.promise(
      ({ number, signal }) => {
        signals.push(signal)
        return number === 1 ? new Promise(() => {}) : number
      },
      quick,
      { attemptTimeout: "5 millis" }
    )
    expect(result).toBe(2)
    expect(signals.map((_) => _.aborted)).toEqual([true, false])
  })

  it("asks `when` and tells `onRetry`, as values or promises", async () => {
    const told: Array<number> = []
    await rejection(Retry.promise(() => Promise.reject(new Error("busy")), quick, {
      when: async () => true,
      onRetry: async (event) => told.push(event.attempt)
    }))
    expect(told).toEqual([1, 2])
    const refused = new Error("refused")
    expect(await rejection(Retry.promise(() => Promise.reject(refused), quick, { when: () => false }))).toBe(refused)
  })

  it("shares a budget with other runs", async () => {
    const budget = RetryBudget.quota({ capacity: 1, retryCost: 1, timeoutCost: 1 })
    const busy = () => Promise.reject(new Error("busy"))
    const first = await rejection(Retry.promise(busy, quick, { budget }))
    expect((first as RetryExhausted.RetryExhausted).reason._tag).toBe("Budget")
    expect(await Effect.runPromise(RetryBudget.balance(budget))).toBe(0)
  })

  it("a signal shared by 10,000 runs keeps no listener (F2)", async () => {
    const { signal } = new AbortController()
    let listeners = 0
    const counted = new Proxy(signal, {
      get: (target, key) => {
        if (key === "addEventListener") {
          return (...args: Parameters<AbortSignal["addEventListener"]>) => {
            listeners++
            target.addEventListener(...args)
          }
        }
        if (key === "removeEventListener") {
          return (...args: Parameters<AbortSignal["removeEventListener"]>) => {
            listeners--
            target.removeEventListener(...args)
          }
        }
        const value = Reflect.get(target, key, target)
        return typeof value === "function" ? value.bind(target) : value
      }
    })
    for (let n = 0; n < 1000; n++) await Retry.promise(() => n, quick, { signal: counted })
    expect(listeners).toBe(0)
  })

  it("refuses what Retry.run refuses", async () => {
    expect(String(await rejection(Retry.promise(() => 1, Policy.constant(5))))).toContain("unlimited")
  })

  it.each([
    // There is no switch here that could know of it.
    { origin: "https://api.example.com" },
    { attemptSpans: true },
    { onEvent: () => {} },
    { retries: 3 }
  ])("refuses an option that it does not have: %o", async (options: object) => {
    expect(String(await rejection(Retry.promise(() => 1, quick, options)))).toContain(
      `promise.${
        Object.keys(options)[0]
      } must be one of the options name, attemptTimeout, repeatable, budget, when, onRetry, signal, got`
    )
  })

  it.each(["when", "onRetry", "repeatable"])("refuses %s where it is no function", async (key) => {
    const options: object = { [key]: true }
    expect(String(await rejection(Retry.promise(() => 1, quick, options)))).toContain(
      `promise.${key} must be a function, got true`
    )
  })
})

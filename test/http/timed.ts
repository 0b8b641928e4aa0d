import { vi } from "vitest"

/** What a call that needs no network comes to, and after how many milliseconds of a clock of the test's own. */
export const timed = async <A>(call: () => Promise<A>): Promise<readonly [A, number]> => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] })
  // Effect's monotonic clock.
  const monotonic = vi.spyOn(process.hrtime, "bigint").mockImplementation(() => BigInt(Date.now()) * 1_000_000n)
  try {
    const begin = Date.now()
    let end: number | undefined
    const result = call().finally(() => end = Date.now())
    while (end === undefined) await vi.advanceTimersByTimeAsync(1)
    return [await result, end - begin]
  } finally {
    monotonic.mockRestore()
    vi.useRealTimers()
  }
}

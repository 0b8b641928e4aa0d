import { performance } from "node:perf_hooks"
import { setTimeout } from "node:timers/promises"

/**
 * Waits in real time until it is so, and says for how many milliseconds.
 *
 * - `most`: milliseconds after which it fails
 * - `lines`: what it then shows
 */
export const until = async (
  condition: () => boolean,
  { lines = [], most = 10_000 }: { readonly most?: number; readonly lines?: ReadonlyArray<string> } = {}
): Promise<number> => {
  const start = performance.now()
  while (!condition()) {
    if (performance.now() - start > most) throw new Error([`It was not so within ${most} ms`, ...lines].join("\n"))
    await setTimeout(2)
  }
  return performance.now() - start
}

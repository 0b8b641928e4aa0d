import { Policy } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import { getEventListeners } from "node:events"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { expect, it } from "vitest"
import { inOrder, rejection, serve } from "../fetchServer.ts"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

const listeners = (signal: AbortSignal): number => getEventListeners(signal, "abort").length

it("10,000 calls aborted by one shared signal end with its reason and leave no listener (F2)", async () => {
  const controller = new AbortController()
  const { signal } = controller
  const warnings: Array<Error> = []
  const warned = (warning: Error) => void warnings.push(warning)
  process.on("warning", warned)
  const { url } = await serve(inOrder("hang"))
  const f = FetchRetry.fetch(Policy.constant("1 hour").pipe(Policy.attempts(2)), { attemptTimeout: "none" })
  // A part of them waits for an answer, and most for a connection.
  const calls = Array.from({ length: 10_000 }, () => rejection(f(url, { signal })))
  await new Promise((resolve) => setTimeout(resolve, 50))
  controller.abort("all of you")
  expect(new Set(await Promise.all(calls))).toEqual(new Set(["all of you"]))
  expect(listeners(signal)).toBe(0)
  expect(warnings).toEqual([])
  process.off("warning", warned)
})

it("10,000 calls, one after the other, with one signal that is never aborted leave no listener and no memory", async () => {
  const { signal } = new AbortController()
  const { seen, url } = await serve(inOrder({ status: 200, body: "ok" }))
  const f = FetchRetry.fetch()
  const used = async (calls: number) => {
    for (let n = 0; n < calls; n++) await (await f(url, { signal })).text()
    seen.length = 0
    // What the runtime knows of a signal goes when it collects.
    for (let n = 0; n < 5; n++) {
      collect()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return process.memoryUsage().heapUsed
  }
  const before = await used(2000)
  const after = await used(10_000)
  expect(listeners(signal)).toBe(0)
  expect((after - before) / 10_000).toBeLessThan(300)
})

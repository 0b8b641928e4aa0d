// Fails a test that takes more than a second of its own time.
//
// Wall time would blame a test for a busy machine. What is counted is what only the test can cause: the CPU time of
// its thread, and the time for which its event loop had nothing to do but wait (a real sleep, a real connection).
// Being kept from the processor by somebody else is in neither. Tests that overlap in one file would be counted
// together, so nothing here runs `concurrent`.
import { performance } from "node:perf_hooks"
import { threadCpuUsage } from "node:process"
import { beforeEach } from "vitest"

const limit = 1_000

const cpu = () => {
  const { system, user } = threadCpuUsage()
  return (system + user) / 1_000
}

beforeEach(() => {
  const cpuBefore = cpu()
  const idleBefore = performance.eventLoopUtilization().idle
  return () => {
    const busy = Math.round(cpu() - cpuBefore)
    const idle = Math.round(performance.eventLoopUtilization().idle - idleBefore)
    if (busy + idle > limit) {
      throw new Error(
        `A test may take ${limit} ms: this one computed for ${busy} ms and waited for ${idle} ms. ` +
          "Use TestClock instead of real time, or fewer runs."
      )
    }
  }
})

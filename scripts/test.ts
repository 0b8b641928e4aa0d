// Runs the tests and ends with one plain line: "N passed, N failed, N skipped".
// Arguments are vitest's own: npm test -- test/core/Policy.test.ts
import { parseCLI, startVitest, type TestModule } from "vitest/node"

const counts = { passed: 0, failed: 0, skipped: 0 }

const count = (module: TestModule) => {
  let failed = 0
  for (const test of module.children.allTests()) {
    const { state } = test.result()
    // A test that never came to an end did not pass.
    if (state === "failed" || state === "pending") failed++
    else counts[state]++
  }
  // A file that cannot be collected, or whose hooks fail, has no failed test to show for it.
  counts.failed += !module.ok() && failed === 0 ? 1 : failed
}

try {
  const { filter, options } = parseCLI(["vitest", "run", ...process.argv.slice(2)])
  const vitest = await startVitest("test", filter, options)
  for (const module of vitest.state.getTestModules()) count(module)
  if (counts.failed === 0) counts.failed += vitest.state.getUnhandledErrors().length
  await vitest.close()
} catch (error) {
  console.error(error)
  counts.failed++
}
// A run of nothing proves nothing.
if (counts.passed + counts.failed + counts.skipped === 0) counts.failed++

console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
process.exit(counts.failed > 0 ? 1 : process.exitCode)

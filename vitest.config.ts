import { defineConfig } from "vitest/config"

// These build, install and start processes: they take the time that takes.
const slow = [
  "test/packaging/**/*.test.ts",
  "test/examples/**/*.test.ts",
  "test/cli/**/*.test.ts",
  "test/http/live/**/*.test.ts",
  "test/idempotency/live/**/*.test.ts",
  "test/redis/**/*.test.ts",
  "test/process/**/*.test.ts",
  "test/sql/live/**/*.test.ts",
  "test/sqlite/process/**/*.test.ts"
]

export default defineConfig({
  test: {
    pool: "threads",
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: slow,
          // Loading Effect anew for every file would be most of a run. So files share modules, and no test may leave
          // state in one.
          isolate: false,
          setupFiles: ["scripts/time-limit.ts"],
          // No clock to fail by on a busy machine, only an end for what hangs: the limit is in the setup file.
          testTimeout: 30_000,
          hookTimeout: 60_000
        }
      },
      {
        extends: true,
        test: { name: "slow", include: slow, testTimeout: 180_000, hookTimeout: 180_000 }
      }
    ]
  }
})

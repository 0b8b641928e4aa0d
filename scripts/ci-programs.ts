// What tests need of the system and may have to do without: the programs that .ci/install installs.
import { spawnSync } from "node:child_process"
import { writeSync } from "node:fs"

// Debian keeps PostgreSQL off the PATH.
const find = "command -v \"$1\" || ls /usr/lib/postgresql/*/bin/\"$1\""

const isHere = (name: string): boolean => spawnSync("sh", ["-c", find, "sh", name], { stdio: "ignore" }).status === 0

const isCi = !["", "false"].includes(process.env["CI"] ?? "")

/**
 * The programs that are not there, whose tests are to be skipped; says so on a line that nobody overlooks. In CI none
 * is: there a missing one fails its tests.
 */
export const missing = (what: string, names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const absent = isCi ? [] : names.filter((name) => !isHere(name))
  if (absent.length > 0) {
    // At once and as it is: Vitest shows what a test file logs under a heading, or not at all.
    const without = absent.join(" and no ")
    writeSync(2, `\n*** SKIPPED: ${what}, as there is no ${without} here: "sudo .ci/install" installs it ***\n\n`)
  }
  return absent
}

// What tests need of the system and may have to do without: the programs that .ci/install installs.
import { spawnSync } from "node:child_process"
import { writeSync } from "node:fs"

// Debian keeps PostgreSQL off the PATH.
const find = "command -v \"$1\" || ls /usr/lib/postgresql/*/bin/\"$1\""

const isHere = (name: string): boolean => spawnSync("sh", ["-c", find, "sh", name], { stdio: "ignore" }).status === 0

/** An environment variable that is set, and not empty. */
const variable = (name: string): string | undefined => process.env[name] || undefined

/** Nothing is skipped there. */
const isCi = (variable("CI") ?? "false") !== "false"

/** Says which tests are skipped and why, on a line that nobody overlooks. */
export const sayThatSkipped = (what: string, why: string): void => {
  // At once and as it is: Vitest shows what a test file logs under a heading, or not at all.
  writeSync(2, `\n*** SKIPPED: ${what}, as ${why} ***\n\n`)
}

/**
 * The programs that are not there, whose tests are to be skipped; that is said. In CI they are an error.
 *
 * - `instead`: what else would do
 */
export const missing = (what: string, names: ReadonlyArray<string>, instead = ""): ReadonlyArray<string> => {
  const absent = names.filter((name) => !isHere(name))
  if (absent.length === 0) return absent
  const why = `there is no ${absent.join(" and no ")} here: "sudo .ci/install" installs it${instead}`
  if (isCi) throw new Error(`Where CI is set, ${what} fail rather than be skipped, and ${why}`)
  sayThatSkipped(what, why)
  return absent
}

/** What there is of a server for tests. */
export interface Server {
  /** One that an environment variable names. It is somebody's: tests neither kill nor freeze it. */
  readonly given: string | undefined
  /** Whether tests can start one of their own. */
  readonly isInstalled: boolean
}

/**
 * Looks for a server: one that is given, or the programs to start one. Says which tests are skipped for want of them. In
 * CI the programs must be there: without them it throws, also where a server is given, as that would skip some tests.
 *
 * - `name`: "Redis"
 * - `programs`: all that are needed to start one
 * - `from`: the environment variable that may name a server
 */
export const findServer = (name: string, programs: ReadonlyArray<string>, from: string): Server => {
  const given = variable(from)
  const absent = given === undefined
    ? missing(`the tests of ${name}`, programs, `, or name a server in ${from}`)
    : missing(`the tests that need a ${name} of their own, to kill it`, programs)
  return { given, isInstalled: absent.length === 0 }
}

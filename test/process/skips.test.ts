// What a machine lacks is said on one line; where CI is set it is an error, so that nothing is skipped unseen.
import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { hasOwnRedis } from "../redis/server.ts"

/** Loads a module on a machine that has no programs at all, and prints what it exports. */
const load = (module: string, env: Readonly<Record<string, string>>, names: ReadonlyArray<string>) => {
  const code = `const all = await import(${JSON.stringify(import.meta.resolve(module))})
    console.log(JSON.stringify([${names.map((name) => `all.${name}`).join(", ")}]))`
  const { status, stderr, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    encoding: "utf8",
    env: { PATH: "/nowhere", ...env }
  })
  return { status, stderr, stdout: stdout.trim() }
}

const redis = (env: Readonly<Record<string, string>>) => load("../redis/server.ts", env, ["hasRedis", "hasOwnRedis"])

const url = { REPRISE_TEST_REDIS_URL: "redis://127.0.0.1:1" }
const noUrl = { REPRISE_TEST_REDIS_URL: "" }

describe("no redis-server", () => {
  it.each(["1", "true", "yes"])("is an error with CI=%s", (CI) => {
    for (const given of [url, noUrl]) {
      const { status, stderr } = redis({ CI, ...given })
      expect(stderr).toMatch(
        /Error: Where CI is set, the tests .* fail rather than be skipped, .* no redis-server here/
      )
      expect(status).toBe(1)
    }
  })

  it.each([{}, { CI: "" }, { CI: "false" }])("is said with %o", (env) => {
    const { status, stderr, stdout } = redis({ ...env, ...noUrl })
    expect(stderr.trim()).toBe(
      "*** SKIPPED: the tests of Redis, as there is no redis-server here: \"sudo .ci/install\" installs it, or name a " +
        "server in REPRISE_TEST_REDIS_URL ***"
    )
    expect([status, stdout]).toEqual([0, "[false,false]"])
  })

  it("is said of the tests that kill one, where another is given", () => {
    const { status, stderr, stdout } = redis(url)
    expect(stderr.trim()).toBe(
      "*** SKIPPED: the tests that need a Redis of their own, to kill it, as there is no redis-server here: " +
        "\"sudo .ci/install\" installs it ***"
    )
    expect([status, stdout]).toEqual([0, "[true,false]"])
  })
})

it.skipIf(!hasOwnRedis)("a server that is given does not keep the tests from one of their own", () => {
  const { stderr, stdout } = redis({ PATH: process.env["PATH"]!, CI: "1", ...url })
  expect([stderr, stdout]).toEqual(["", "[true,true]"])
})

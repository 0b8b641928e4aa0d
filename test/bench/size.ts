import { build } from "esbuild"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import type { Measurement } from "./Measurement.ts"
import { alone, atMost } from "./Row.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** As `npm run size` weighs it. */
const whole = (): number => {
  const { error, status, stderr, stdout } = spawnSync("size-limit", ["--json"], { cwd: root, encoding: "utf8" })
  // It fails when the limit is passed, and still says the size.
  if (error !== undefined || !stdout.startsWith("[")) {
    throw new Error(`size-limit: ${error ?? status} ${stderr}${stdout}`)
  }
  return JSON.parse(stdout)[0].size / 1_000
}

const program = async (contents: string): Promise<number> => {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL(".", import.meta.url)) },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    external: ["effect", "effect/*"]
  })
  return gzipSync(outputFiles[0]!.contents, { level: 9 }).length / 1_000
}

const usual = `
  import { Policy, Retry } from "@reprise/core"
  const policy = Policy.exponential("500 millis").pipe(
    Policy.capped("30 seconds"),
    Policy.jittered,
    Policy.attempts(5),
    Policy.whileTag("Timeout", "Unavailable")
  )
  export const retrying = Retry.run(policy)
`

export const size: Measurement = {
  title: "Minified and gzipped, without effect",
  async measure() {
    return [
      alone("@reprise/core, all of it", "kB", [whole()], atMost(10, "ours")),
      alone("Policy and Retry, all of both", "kB", [await program(`export { Policy, Retry } from "@reprise/core"`)]),
      alone("a program with one policy and Retry.run", "kB", [await program(usual)])
    ]
  }
}

import { build } from "esbuild"
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import type { Measurement } from "./Measurement.ts"
import { alone, atMost } from "./Row.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** As `npm run size` weighs them: all of core, and a program that imports two of its modules. */
const weighed = (): ReadonlyArray<number> => {
  const { error, status, stderr, stdout } = spawnSync(process.execPath, ["node_modules/size-limit/bin.js", "--json"], {
    cwd: root,
    encoding: "utf8"
  })
  // It fails when a limit is passed, and still says the size.
  if (error !== undefined || !stdout.startsWith("[")) {
    throw new Error(`size-limit: ${error ?? status} ${stderr}${stdout}`)
  }
  return JSON.parse(stdout).map((entry: { readonly size: number }) => entry.size / 1_000)
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

export const size: Measurement = {
  title: "Minified and gzipped, without effect",
  async measure() {
    const [all, one] = weighed()
    return [
      alone("@reprise/core, all of it", "kB", [all!], atMost(10, "ours")),
      alone("Policy and Retry, all of both", "kB", [await program(`export { Policy, Retry } from "@reprise/core"`)]),
      alone("a program with one policy and Retry.run", "kB", [one!], atMost(10, "ours"))
    ]
  }
}

// Every check but the tests, one after another, and all of them: a red one hides no other.
import { spawnSync } from "node:child_process"
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { performance } from "node:perf_hooks"
import { pack } from "./pack.ts"

class CheckFailed extends Error {}

const run = (command: string, ...args: ReadonlyArray<string>) => {
  const result = spawnSync(command, args, { encoding: "utf8" })
  if (result.status === 0) return
  throw new CheckFailed(`${result.error ?? ""}${result.stdout}${result.stderr}`)
}

const types = () => run("tsc", "-b")

const effectDiagnostics = () => {
  const filter = ["--strict", "--severity", "error,warning", "--format", "text"]
  for (const { path } of JSON.parse(readFileSync("tsconfig.json", "utf8")).references) {
    const project = path.endsWith(".json") ? path : join(path, "tsconfig.json")
    run("effect-tsgo", "diagnostics", "--project", project, ...filter)
  }
}

const lint = () => {
  run("oxlint")
  // Oxlint has no rule that asks a suppression for its reason.
  const bare = globSync("{packages,test,examples,scripts}/**/*.ts", { exclude: ["**/node_modules", "**/dist"] })
    .flatMap((path) =>
      readFileSync(path, "utf8").split("\n").map((text, index) => ({ at: `${path}:${index + 1}`, text }))
    )
    .filter(({ text }) => /(?:\/\/|\/\*)\s*oxlint-disable/.test(text) && !/ -- \S/.test(text))
  if (bare.length > 0) {
    throw new CheckFailed(
      bare.map(({ at }) => `${at}: give the reason: // oxlint-disable-line <rule> -- <reason>\n`).join("")
    )
  }
}

const format = () => run("dprint", "check")

const deadCode = () => run("knip")

const packaging = () => {
  const directory = mkdtempSync(join(tmpdir(), "reprise-check-"))
  try {
    for (const { entrypoints, tarball } of pack(directory)) {
      run("publint", "run", "--strict", tarball)
      if (entrypoints.length === 0) continue
      run("attw", "--profile", "esm-only", "--no-emoji", "--format", "ascii", tarball, "--entrypoints", ...entrypoints)
    }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

const size = () => run("size-limit")

const steps = { types, "effect": effectDiagnostics, lint, format, "dead code": deadCode, packaging, size }

for (const [name, step] of Object.entries(steps)) {
  const start = performance.now()
  const time = () => `${((performance.now() - start) / 1_000).toFixed(1)} s`
  try {
    step()
    console.log(`${name.padEnd(10)} ok      ${time()}`)
  } catch (error) {
    console.log(`${name.padEnd(10)} FAILED  ${time()}\n`)
    console.log(error instanceof CheckFailed ? error.message : error)
    process.exitCode = 1
  }
}

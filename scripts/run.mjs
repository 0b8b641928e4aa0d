// Runs a script on the workspace's own Node, installing first what is missing.
// Usage: node scripts/run.mjs [node options] <script> [arguments]
//
// This file alone runs on whatever Node the system has, before anything is installed: plain JavaScript, no
// dependencies. All that it starts runs on the Node 24 that is the root's devDependency "node".
import { spawn, spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { constants } from "node:os"
import { delimiter, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const bin = join(root, "node_modules", ".bin")
const node = join(bin, "node")
// Holds the hash of the manifests that were last installed, so that asking "is anything missing?" costs no pnpm.
const stamp = join(root, "node_modules", ".installed")

const manifests = () =>
  [
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "package.json",
    ...readdirSync(join(root, "packages")).map((name) => `packages/${name}/package.json`),
    "test/bench/package.json"
  ].map((path) => join(root, path)).filter((path) => existsSync(path))

const hash = () => {
  const sum = createHash("sha256")
  for (const path of manifests()) sum.update(path).update(readFileSync(path))
  return sum.digest("hex")
}

const install = () => {
  const wanted = hash()
  if (existsSync(node) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return
  process.stderr.write("Installing dependencies...\n")
  const { pnpm } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).config
  const result = spawnSync("npx", ["--yes", pnpm, "install", "--frozen-lockfile"], { cwd: root, encoding: "utf8" })
  if (result.status !== 0) {
    process.stderr.write(`${result.error ?? ""}${result.stdout ?? ""}${result.stderr ?? ""}`)
    process.stderr.write("The installation failed: see above.\n")
    process.exit(result.status ?? 1)
  }
  writeFileSync(stamp, wanted)
}

install()
const program = spawn(node, process.argv.slice(2), {
  cwd: root,
  stdio: "inherit",
  env: { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
})
// A terminal tells the program of Ctrl-C itself; what reaches this process alone is passed on. It stays until the
// program has said its last line, and ends as the program did.
process.on("SIGINT", () => {})
process.on("SIGTERM", () => program.kill("SIGTERM"))
program.on("exit", (status, signal) => process.exit(status ?? 128 + constants.signals[signal]))

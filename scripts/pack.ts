// Builds the packages and packs them, as publishing would, without touching the workspace: from a copy, so that a
// stale file in some dist/ is never packed and two runs at once do not meet.
import { spawnSync } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"

export interface Packed {
  readonly name: string
  readonly tarball: string
  /** The entry points that a consumer may import: ".", "./Policy" and so on; none of a command. */
  readonly entrypoints: ReadonlyArray<string>
}

const root = fileURLToPath(new URL("..", import.meta.url))

/** Runs a command, and throws with its output when it fails. */
export const run = (cwd: string, command: string, ...args: ReadonlyArray<string>): string => {
  const result = spawnSync(command, args, { cwd, encoding: "utf8" })
  if (result.status === 0) return result.stdout
  throw new Error(`${command} ${args.join(" ")}\n${result.error ?? ""}${result.stdout}${result.stderr}`)
}

const copyWorkspace = (to: string) => {
  for (const name of ["package.json", "pnpm-workspace.yaml", "tsconfig.base.json", "LICENSE"]) {
    cpSync(join(root, name), join(to, name))
  }
  symlinkSync(join(root, "node_modules"), join(to, "node_modules"))
  // The packages' own links are relative, and so lead to the copy.
  cpSync(join(root, "packages"), join(to, "packages"), {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => basename(path) !== "dist"
  })
}

/** Packs every package into the directory. */
export const pack = (destination: string): ReadonlyArray<Packed> => {
  const workspace = mkdtempSync(join(tmpdir(), "reprise-pack-"))
  try {
    copyWorkspace(workspace)
    const packages = readdirSync(join(workspace, "packages"))
    const { pnpm } = JSON.parse(readFileSync(join(workspace, "package.json"), "utf8")).config
    run(workspace, "tsc", "-b", ...packages.map((directory) => join("packages", directory)))
    return packages.map((directory) => {
      const cwd = join(workspace, "packages", directory)
      const { exports, name } = JSON.parse(readFileSync(join(cwd, "package.json"), "utf8"))
      const output = run(cwd, "npx", "--yes", pnpm, "pack", "--json", "--pack-destination", destination)
      const modules = readdirSync(join(cwd, "dist")).filter((file) => file.endsWith(".js") && file !== "index.js")
      return {
        name,
        tarball: JSON.parse(output).filename,
        entrypoints: exports["."] === undefined ? [] : [".", ...modules.map((file) => `./${basename(file, ".js")}`)]
      }
    })
  } finally {
    rmSync(workspace, { recursive: true })
  }
}

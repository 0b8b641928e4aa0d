import { fork, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Block } from "./blocks.ts"
import type { Outcome } from "./child.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const bin = join(root, "node_modules", ".bin")

const place = ({ file, line }: Block) => `${file}:${line}`
const script = (block: Block) => `${block.file.replaceAll("/", "__")}.${block.line}.ts`

/** A block on the lines that it has in its document, so that what compiler and runtime say names the right line. */
const source = (block: Block) => `export {}${"\n".repeat(block.line - 1)}${block.code.join("\n")}\n`

const typeErrors = (directory: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const config = {
    extends: "../tsconfig.test.json",
    compilerOptions: { noUnusedLocals: false },
    include: ["*.ts"]
  }
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify(config))
  const { status, stdout } = spawnSync(join(bin, "tsc"), ["-p", "."], { cwd: directory, encoding: "utf8" })
  // An error without a file is one of the configuration: nothing was checked.
  if (status === null || /^error /m.test(stdout)) throw new Error(`tsc checked nothing: ${stdout}`)
  const errors = new Map<string, Array<string>>()
  // Errors of the sources themselves are for "npm run check".
  for (const [, name, line, message] of stdout.matchAll(/^([^/\n(]+)\((\d+),\d+\): (error TS.*(?:\n\s.*)*)/gm)) {
    errors.set(name!, [...errors.get(name!) ?? [], `${line}: ${message}`])
  }
  return errors
}

const execute = (directory: string, names: ReadonlyArray<string>) =>
  new Promise<ReadonlyMap<string, Outcome>>((resolve, reject) => {
    const outcomes = new Map<string, Outcome>()
    const child = fork(join(import.meta.dirname, "child.ts"), names, {
      cwd: directory,
      execPath: join(bin, "node"),
      execArgv: [],
      stdio: ["ignore", "ignore", "ignore", "ipc"]
    })
    child.on("message", (outcome) => outcomes.set((outcome as Outcome).name, outcome as Outcome))
    child.on("error", reject)
    child.on("exit", () => resolve(outcomes))
  })

// An ellipsis stands for anything: times, identifiers, the rest of a long line.
const matches = (shown: string, printed: string) =>
  new RegExp(`^${shown.split("…").map((text) => RegExp.escape(text)).join(".*")}$`).test(printed)

const compare = (
  file: string,
  shown: ReadonlyArray<{ readonly text: string; readonly line: number }>,
  printed: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const problems = shown.flatMap(({ line, text }, index) => {
    const actual = printed[index]
    if (actual === undefined) return [`${file}:${line}: shows "${text}", printed nothing`]
    return matches(text, actual.trimEnd()) ? [] : [`${file}:${line}: shows "${text}", printed "${actual}"`]
  })
  const last = shown.at(-1)
  return last === undefined
    ? []
    : [
      ...problems,
      ...printed.slice(shown.length).map((text) => `${file}:${last.line}: then printed "${text}", not shown`)
    ]
}

const shownBy = (block: Block) =>
  block.code.flatMap((text, index) => {
    const shown = /\/\/ [=-]> ?(.*)$/.exec(text)?.[1]
    return shown === undefined ? [] : [{ text: shown.trimEnd(), line: block.line + index }]
  })

const outcomeProblems = (block: Block, outcome: Outcome | undefined): ReadonlyArray<string> => {
  if (outcome === undefined) return [`${place(block)}: ended the process`]
  if (outcome.error !== undefined) {
    const line = new RegExp(`${RegExp.escape(script(block))}:(\\d+)`).exec(outcome.error)?.[1] ?? block.line
    // The line is what a stack has to tell here.
    return [`${block.file}:${line}: ${outcome.error.replaceAll(/\n +at .*/g, "")}`]
  }
  return compare(block.file, shownBy(block), outcome.printed)
}

const verifyScripts = async (blocks: ReadonlyArray<Block>): Promise<ReadonlyMap<Block, ReadonlyArray<string>>> => {
  // Inside the workspace, where packages resolve; outside of node_modules, where Node strips no types.
  const directory = mkdtempSync(join(root, ".doc-examples-"))
  try {
    for (const block of blocks) writeFileSync(join(directory, script(block)), source(block))
    const errors = typeErrors(directory)
    const outcomes = await execute(directory, blocks.filter(({ run }) => run).map(script))
    return new Map(blocks.map((block) => [block, [
      ...(errors.get(script(block)) ?? []).map((error) => `${block.file}:${error}`),
      ...(block.run ? outcomeProblems(block, outcomes.get(script(block))) : [])
    ]]))
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Runs each command that follows a `$ `, and compares what it prints with the lines below. */
const verifyCommands = (block: Block): ReadonlyArray<string> => {
  const env = { ...process.env, PATH: `${bin}:${dirname(process.execPath)}:${process.env["PATH"]}`, NO_COLOR: "1" }
  const starts = block.code.flatMap((text, index) => text.startsWith("$ ") ? [index] : [])
  if (starts[0] !== 0) return [`${place(block)}: a block to run starts with "$ "`]
  return starts.flatMap((start, index) => {
    const { status, stderr, stdout } = spawnSync("bash", ["-c", block.code[start]!.slice(2)], {
      cwd: root,
      encoding: "utf8",
      env
    })
    if (status !== 0) return [`${block.file}:${block.line + start}: exit code ${status}\n${stdout}${stderr}`]
    const shown = block.code.slice(start + 1, starts[index + 1])
      .map((text, offset) => ({ text, line: block.line + start + 1 + offset }))
    return compare(block.file, shown, stdout.trimEnd().split("\n"))
  })
}

/** Type-checks and runs examples; what is wrong with each, with file and line. */
export const verify = async (blocks: ReadonlyArray<Block>): Promise<ReadonlyMap<Block, ReadonlyArray<string>>> => {
  const scripts = blocks.filter(({ language }) => language === "ts")
  const commands = blocks.filter(({ language, run }) => language === "sh" && run)
  return new Map([
    ...(scripts.length === 0 ? [] : await verifyScripts(scripts)),
    ...commands.map((block) => [block, verifyCommands(block)] as const)
  ])
}

import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { missing } from "../../scripts/ci-programs.ts"
import { find } from "../docs/blocks.ts"
import { shell, terminal, workplace } from "./reprise.ts"

const readme = new URL("../../packages/cli/README.md", import.meta.url)

/** The lines that the README has for a shell: those below a comment that is its name. */
const instructions = (name: string): ReadonlyArray<string> => {
  const text = readFileSync(readme, "utf8")
  const [, section = ""] = text.split("\n## Completions\n")
  const code = find("README.md", section.split("\n## ")[0] ?? "").blocks.flatMap((block) => block.code)
  const after = code.slice(code.indexOf(`# ${name}`) + 1)
  const end = after.findIndex((line) => line.startsWith("#"))
  return end === -1 ? after : after.slice(0, end)
}

/** A home in which the README has been followed for a shell. */
const followed = async (name: string) => {
  const home = workplace()
  const lines = instructions(name)
  const { exitCode, stderr } = await shell(["umask 022", `export HOME='${home.path("")}'`, ...lines].join("\n"))
  expect({ lines: lines.length > 0, exitCode, stderr }).toEqual({ lines: true, exitCode: 0, stderr: "" })
  return home
}

/** What the shell of a terminal runs when each line is typed, then Tab, then Enter. */
const completed = async (
  command: string,
  { lines, path }: { readonly lines: ReadonlyArray<string>; readonly path: (name: string) => string }
): Promise<ReadonlyArray<string>> => {
  const env = { HOME: path(""), ZDOTDIR: path(""), INPUTRC: "/dev/null" }
  const { child, outcome, shown } = terminal(command, env)
  await shown("ready> ")
  for (const [index, line] of lines.entries()) {
    child.stdin.write(`${line}\t\r`)
    await shown(`ran ${index + 1}:`)
  }
  child.stdin.end("exit\r")
  const { stdout } = await outcome
  return [...stdout.matchAll(/ran \d+: (.*?) *\r/g)].map(([, ran = ""]) => `reprise ${ran}`)
}

/** What is typed, and what it becomes. */
const typed = [
  ["reprise pl", "reprise plan"],
  ["reprise check --wi", "reprise check --within"],
  ["reprise explain none --js", "reprise explain none --json"],
  ["reprise compare none --att", "reprise compare none --attempt-timeout"],
  ["reprise import --from te", "reprise import --from temporal"],
  ["reprise run --std", "reprise run --stdin"],
  ["reprise run --stdin b", "reprise run --stdin buffer"]
] as const

/** In place of the command, for a shell's own start file: says what it is called with. */
const stub = "reprise() { count=$((count + 1)); printf 'ran %d: %s\\n' $count \"$*\"; }\nPS1='ready> '\n"

const absent = missing("the tests of completions", ["zsh", "fish"])

describe("--completions, installed as the README says", () => {
  it("completes in bash", async () => {
    using home = await followed("bash")
    home.append(".bashrc", stub)
    const lines = typed.map(([line]) => line)
    expect(await completed("bash -i", { lines, path: home.path })).toEqual(typed.map(([, line]) => line))
  })

  it.skipIf(absent.includes("zsh"))("completes in zsh, flags where an argument may stand included", async () => {
    using home = await followed("zsh")
    home.append(".zshrc", stub)
    const lines = typed.map(([line]) => line)
    // Without what the system starts every zsh with: Debian's completes the words of a menu.
    expect(await completed("zsh -d -i", { lines, path: home.path })).toEqual(typed.map(([, line]) => line))
  })

  it.skipIf(absent.includes("fish"))("completes in fish", async () => {
    using home = await followed("fish")
    const asked = typed.map(([line]) => `complete -C "${line}"`).join("; ")
    const { stderr, stdout } = await shell(
      `export HOME='${home.path("")}'; unset XDG_CONFIG_HOME; fish -c '${asked}'`
    )
    expect(stderr).toBe("")
    expect(stdout.trimEnd().split("\n").map((line) => line.split("\t")[0]))
      .toEqual(typed.map(([, line]) => line.split(" ").at(-1)))
  })

  it.skipIf(absent.includes("zsh"))("says in zsh what an argument is", async () => {
    using home = await followed("zsh")
    home.append(".zshrc", `${stub}zstyle ':completion:*' format '[%d]'\n`)
    const { child, shown } = terminal("zsh -d -i", { HOME: home.path(""), ZDOTDIR: home.path("") })
    await shown("ready> ")
    child.stdin.write("reprise explain \t")
    await expect(shown("[The notation, @FILE, preset:NAME or env:NAME]")).resolves.toBeUndefined()
  })
})

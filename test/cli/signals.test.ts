import { describe, expect, it } from "vitest"
import { gone, main, reprise, start, terminal, workplace } from "./reprise.ts"

const long = "constant(1m) | attempts(3)"

/** Says its own process id and that of a child of its own, and waits for long. */
const family = "sleep 60 & echo \"pids $$ $!\"; wait"

const pids = async ({ child }: ReturnType<typeof start>): Promise<ReadonlyArray<number>> =>
  new Promise((resolve) => {
    child.stdout.on("data", (text: string) => {
      const [, parent, inner] = /pids (\d+) (\d+)/.exec(text) ?? []
      if (parent !== undefined) resolve([Number(parent), Number(inner)])
    })
  })

describe("a signal to a run", () => {
  it.for([["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const)(
    "goes to the program, whose end is waited for: %s",
    async ([signal, exitCode]) => {
      const program =
        `process.on("${signal}", () => setTimeout(() => { console.log("tidied"); process.exit(0) }, 50));` +
        "setInterval(() => {}, 1e6); console.log('up')"
      const run = start(["run", "--policy", long, "--", "node", "-e", program])
      await run.shown("up")
      run.child.kill(signal)
      expect(await run.outcome).toEqual({
        exitCode,
        stdout: "up\ntidied\n",
        stderr: `reprise: attempt 1: ended by ${signal}\n`
      })
    }
  )

  it.for([["SIGINT", 130], ["SIGTERM", 143]] as const)("ends a wait at once: %s", async ([signal, exitCode]) => {
    const run = start(["run", "--policy", long, "--", "false"])
    await run.shown("next one in 1 min")
    run.child.kill(signal)
    const { stderr, ...outcome } = await run.outcome
    expect(outcome).toEqual({ exitCode, stdout: "" })
    expect(stderr).toContain(`ended by ${signal} while waiting for attempt 2`)
  })

  it("can come twice: the second one goes to the program too", async () => {
    const program =
      "let n = 0; process.on('SIGINT', () => { console.log('got', ++n); if (n === 2) process.exit(0) });" +
      "setInterval(() => {}, 1e6); console.log('up')"
    const run = start(["run", "--policy", long, "--", "node", "-e", program])
    await run.shown("up")
    run.child.kill("SIGINT")
    await run.shown("got 1")
    run.child.kill("SIGINT")
    expect(await run.outcome).toMatchObject({ exitCode: 130, stdout: "up\ngot 1\ngot 2\n" })
  })
})

describe("what a program has started", () => {
  it("does not outlive a run that is ended", async () => {
    const run = start(["run", "--policy", long, "--", "sh", "-c", family])
    const started = await pids(run)
    run.child.kill("SIGTERM")
    expect(await run.outcome).toMatchObject({ exitCode: 143 })
    await Promise.all(started.map(gone))
  })

  it("does not outlive a run that is killed", async () => {
    const run = start(["run", "--policy", long, "--", "sh", "-c", family])
    const started = await pids(run)
    run.child.kill("SIGKILL")
    expect((await run.outcome).exitCode).toBeNull()
    await Promise.all(started.map(gone))
  })

  it("does not outlive an attempt whose time is up, although it does not listen", async () => {
    const deaf = `trap "" TERM; ${family}; wait`
    const run = start(["run", "--policy", "none", "--attempt-timeout", "300ms", "--", "sh", "-c", deaf])
    const started = await pids(run)
    expect(await run.outcome).toMatchObject({ exitCode: 124 })
    await Promise.all(started.map(gone))
  })

  it("does not outlive a program that has succeeded", async () => {
    const run = start(["run", "--policy", "none", "--", "sh", "-c", "sleep 60 >/dev/null 2>&1 & echo \"pids $$ $!\""])
    const started = await pids(run)
    expect(await run.outcome).toMatchObject({ exitCode: 0 })
    await Promise.all(started.map(gone))
  })
})

describe("in a terminal", () => {
  const node = `${process.execPath} ${main}`

  it("has colours, unless NO_COLOR is set", async () => {
    const [coloured, plain] = await Promise.all([
      terminal(`${node} plan preset:standard`).outcome,
      terminal(`${node} plan preset:standard`, { NO_COLOR: "1" }).outcome
    ])
    expect(coloured.stdout).toContain("\u001b[1mexponential(200ms)")
    expect(plain.stdout).toContain("exponential(200ms)")
    expect(plain.stdout).not.toContain("\u001b")
  })

  it("passes what is typed to the program, and Ctrl-C", async () => {
    // `exec`, because a shell that forks at the moment of the signal may lose it for its child.
    const program = "sh -c 'read line; echo got $line; exec sleep 60'"
    // The shell in the terminal ignores the signal, which is for the command, and shows its exit code.
    const run = terminal(`trap "" INT; ${node} run --policy '${long}' -- ${program}; echo "code $?"`)
    run.child.stdin.write("hello\n")
    await run.shown("got hello")
    run.child.stdin.write("\u0003")
    await run.shown("code 130")
    expect((await run.outcome).stdout).toContain("attempt 1: ended by SIGINT")
  })
})

describe("the completions", () => {
  it.for(["bash", "zsh", "fish"])("are a script: %s", async (shell) => {
    const { exitCode, stdout } = await reprise(["--completions", shell])
    expect(exitCode).toBe(0)
    expect(stdout).toContain("attempt-timeout")
  })

  it("complete a subcommand and its flags in bash", async () => {
    using files = workplace({ "complete.bash": (await reprise(["--completions", "bash"])).stdout })
    const ask = (words: string) =>
      terminal(
        `bash -c 'source ${
          files.path("complete.bash")
        }; COMP_WORDS=(${words}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); ` +
          `COMP_LINE="${words}"; COMP_POINT=\${#COMP_LINE}; ` +
          `$(complete -p reprise | sed "s/.*-F \\([^ ]*\\).*/\\1/"); echo "[\${COMPREPLY[*]}]"'`
      ).outcome
    expect((await ask("reprise pl")).stdout).toContain("[plan")
    expect((await ask("reprise check --allow-no-j")).stdout).toContain("--allow-no-jitter")
  })
})

import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "vitest"
import { reprise, shell, workplace } from "./reprise.ts"

const quick = "constant(10ms) | attempts(5)"

/** Notes what it is given, and fails with 75 until its third attempt. */
const flaky = [
  "import { appendFileSync } from \"node:fs\"",
  "const { RETRY_ATTEMPT, RETRY_IDEMPOTENCY_KEY } = process.env",
  "let bytes = 0",
  "for await (const chunk of process.stdin) bytes += chunk.length",
  "appendFileSync(process.argv[2], JSON.stringify([RETRY_ATTEMPT, RETRY_IDEMPOTENCY_KEY, bytes]) + \"\\n\")",
  "console.log(\"out\", RETRY_ATTEMPT)",
  "process.exit(Number(RETRY_ATTEMPT) < 3 ? 75 : 0)"
].join("\n")

const runFlaky = async (stdin: Buffer, ...flags: ReadonlyArray<string>) => {
  using files = workplace({ "flaky.mjs": flaky })
  const args = ["run", "--policy", quick, ...flags, "--", "node", files.path("flaky.mjs"), files.path("log")]
  const outcome = await reprise(args, { stdin })
  const log: ReadonlyArray<readonly [attempt: string, key: string, bytes: number]> = files.read("log").trim().split(
    "\n"
  )
    .map((line) => JSON.parse(line))
  return { ...outcome, log }
}

const megabyte = Buffer.alloc(1_000_000, "x")

describe("reprise run", () => {
  it("runs a program until it works, says so in a line an attempt, and passes its output through", async () => {
    const { exitCode, log, stderr, stdout } = await runFlaky(megabyte)
    expect(exitCode).toBe(0)
    expect(stdout).toBe("out 1\nout 2\nout 3\n")
    expect(stderr).toBe([
      "reprise: attempt 1: exit code 75; the next one in 10 ms",
      "reprise: attempt 2: exit code 75; the next one in 10 ms",
      "reprise: attempt 3: succeeded",
      ""
    ].join("\n"))
    expect(log.map(([attempt]) => attempt)).toEqual(["1", "2", "3"])
    // Standard input is there once.
    expect(log.map(([, , bytes]) => bytes)).toEqual([1_000_000, 0, 0])
  })

  it("gives every attempt the same idempotency key, and every run another", async () => {
    const runs = [await runFlaky(Buffer.of()), await runFlaky(Buffer.of())]
    const keys = runs.map(({ log }) => new Set(log.map(([, key]) => key)))
    expect(keys.map(({ size }) => size)).toEqual([1, 1])
    expect(new Set(keys.flatMap((_) => [..._])).size).toBe(2)
  })

  it("keeps standard input for every attempt with --stdin buffer", async () => {
    const { log } = await runFlaky(megabyte, "--stdin", "buffer")
    expect(log.map(([, , bytes]) => bytes)).toEqual([1_000_000, 1_000_000, 1_000_000])
  })

  it("gives no attempt what an earlier one has left of standard input", async () => {
    const program = "[ $RETRY_ATTEMPT = 1 ] && { read line; echo first $line; exit 1; }; cat; echo end"
    const { stdout } = await reprise(["run", "--policy", quick, "--", "sh", "-c", program], { stdin: "one\ntwo\n" })
    expect(stdout).toBe("first one\nend\n")
  })

  it("passes on a megabyte of each output, to the byte", async () => {
    const program = "process.stdout.write('o'.repeat(1e6)); process.stderr.write('e'.repeat(1e6))"
    const { stderr, stdout } = await reprise(["run", "--policy", "none", "--", "node", "-e", program])
    expect(stdout).toBe("o".repeat(1_000_000))
    expect(stderr).toBe(`${"e".repeat(1_000_000)}reprise: attempt 1: succeeded\n`)
  })

  it("puts no shell in between", async () => {
    const { stdout } = await reprise([
      "run",
      "--policy",
      "none",
      "--",
      "printf",
      "%s|",
      "$HOME",
      "a b",
      "*",
      "--help",
      ";"
    ])
    expect(stdout).toBe("$HOME|a b|*|--help|;|")
  })

  it("tries curl again until a server that was down is up", async () => {
    let requests = 0
    const server = createServer((_, response) => {
      requests++
      response.statusCode = requests < 3 ? 503 : 200
      response.end("hello")
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    // An address of a TCP server is no string.
    const { port } = server.address() as AddressInfo
    try {
      const url = `http://127.0.0.1:${port}/`
      const { exitCode, stdout } = await reprise([
        "run",
        "--policy",
        quick,
        "--",
        "curl",
        "-fsS",
        "--noproxy",
        "*",
        url
      ])
      expect({ exitCode, requests, stdout }).toEqual({ exitCode: 0, requests: 3, stdout: "hello" })
    } finally {
      server.close()
    }
  })
})

describe("the exit code of a run", () => {
  const codes = async (...args: ReadonlyArray<string>) => {
    const { exitCode, stderr } = await reprise(["run", ...args])
    return { exitCode, lines: stderr.trim().split("\n") }
  }

  it("is the program's last when the policy gives up", async () => {
    const { exitCode, lines } = await codes(
      "--policy",
      "immediate(2)",
      "--",
      "sh",
      "-c",
      "exit $((RETRY_ATTEMPT + 40))"
    )
    expect(exitCode).toBe(43)
    expect(lines.at(-1)).toBe("reprise: attempt 3: exit code 43; that was the last one")
  })

  it("is the program's when it is not worth a retry", async () => {
    expect(await codes("--policy", quick, "--retry-on", "1,75", "--", "sh", "-c", "exit 3")).toEqual({
      exitCode: 3,
      lines: ["reprise: attempt 1: exit code 3; not worth another one"]
    })
  })

  it("is 127 for a missing program and 126 for one that cannot be started, at once", async () => {
    expect(await codes("--policy", quick, "--", "no-such-program")).toEqual({
      exitCode: 127,
      lines: ["reprise: attempt 1: no program is called no-such-program; not worth another one"]
    })
    expect(await codes("--policy", quick, "--", "/etc/passwd")).toMatchObject({
      exitCode: 126,
      lines: [expect.stringContaining("EACCES")]
    })
  })

  it("is 128 and the signal's number when a signal of others has ended the program", async () => {
    expect(await codes("--policy", "none", "--", "sh", "-c", "kill -9 $$")).toMatchObject({ exitCode: 137 })
  })

  it("is 124 when the attempt's time was up, and that is worth a retry", async () => {
    const { exitCode, lines } = await codes(
      "--policy",
      "immediate(1)",
      "--retry-on",
      "75",
      "--attempt-timeout",
      "100ms",
      "--",
      "sleep",
      "30"
    )
    expect({ exitCode, lines }).toEqual({
      exitCode: 124,
      lines: [
        "reprise: attempt 1: took too long; the next one in 0 ms",
        "reprise: attempt 2: took too long; that was the last one"
      ]
    })
  })

  it("is 141 at once when nobody reads standard output any more", async () => {
    const { exitCode, stderr } = await shell(
      `reprise run --policy '${quick}' -- yes | head -1 >/dev/null; exit \${PIPESTATUS[0]}`
    )
    expect({ exitCode, stderr }).toEqual({
      exitCode: 141,
      stderr: "reprise: attempt 1: ended by SIGPIPE; not worth another one\n"
    })
  })

  it("is 124 no later than --kill-after says, for a program that does not listen", async () => {
    const started = performance.now()
    const { exitCode } = await codes(
      "--policy",
      "none",
      "--attempt-timeout",
      "100ms",
      "--kill-after",
      "100ms",
      "--",
      "sh",
      "-c",
      "trap '' TERM; while :; do sleep 0.1; done"
    )
    expect(exitCode).toBe(124)
    expect(performance.now() - started).toBeLessThan(4_000)
  })

  it("is the program's when --within leaves no time for another attempt", async () => {
    const { exitCode, lines } = await codes("--policy", "constant(1m) | attempts(5)", "--within", "10s", "--", "false")
    expect({ exitCode, lines }).toEqual({
      exitCode: 1,
      lines: ["reprise: attempt 1: exit code 1; no time for another one"]
    })
  })
})

describe("descriptor 3", () => {
  const asking = (wait: string) => ["--", "sh", "-c", `echo "retry-after: ${wait}" >&3; exit $((RETRY_ATTEMPT == 1))`]

  it("takes a hint, and the policy waits for it", async () => {
    const started = process.hrtime.bigint()
    const { exitCode, stderr } = await reprise([
      "run",
      "--policy",
      "constant(1ms) | attempts(2) | retryAfter(5s)",
      ...asking("1")
    ])
    expect(exitCode).toBe(0)
    expect(stderr).toMatch(/^reprise: attempt 1: exit code 1; the next one in 1(\.\d+)? s\n/)
    expect(process.hrtime.bigint() - started).toBeGreaterThan(1_000_000_000n)
  })

  it.for([
    ["a line that ends as in HTTP", "retry-after: 60\\r\\n"],
    ["the headers that curl shows", "HTTP/1.1 429 Too Many\\r\\nRetry-After: 60\\r\\nDate: now\\r\\n\\r\\n"],
    ["capitals", "RETRY-AFTER:60"],
    ["a line in pieces", "retry-after: 60\\r' >&3; sleep 0.1; printf '\\n"]
  ])("understands %s", async ([, text]) => {
    const { stderr } = await reprise([
      "run",
      "--policy",
      "immediate(1) | retryAfter(5s)",
      "--",
      "sh",
      "-c",
      `printf '${text}' >&3; exit 1`
    ])
    expect(stderr).toContain("it asked for 1 min")
  })

  it("is no use to a policy that does not honour hints", async () => {
    expect((await reprise(["run", "--policy", "constant(1ms) | attempts(2)", ...asking("60")])).exitCode).toBe(0)
  })

  it("ends the run when the hint is longer than the policy waits", async () => {
    const { exitCode, stderr } = await reprise(["run", "--policy", "immediate(1) | retryAfter(5s)", ...asking("60")])
    expect(exitCode).toBe(1)
    expect(stderr).toBe("reprise: attempt 1: exit code 1; it asked for 1 min, more than the 5 s that are waited for\n")
  })
})

describe("--seed", () => {
  const policy = "exponential(20ms) | jitter | attempts(4)"
  const waits = (stderr: string) => [...stderr.matchAll(/next one in (.*)/g)].map(([, wait]) => wait)

  it("draws the same waits every time", async () => {
    const run = () => reprise(["run", "--policy", policy, "--seed", "7", "--", "false"])
    const [first, second] = await Promise.all([run(), run()])
    expect(waits(first.stderr)).toHaveLength(3)
    expect(waits(first.stderr)).toEqual(waits(second.stderr))
  })

  it("shows them beforehand with --dry-run, which starts nothing", async () => {
    using files = workplace()
    const dry = await reprise([
      "run",
      "--policy",
      policy,
      "--seed",
      "7",
      "--dry-run",
      "--",
      "touch",
      files.path("it's")
    ])
    const attempts = dry.stdout.trim().split("\n")
    expect({ exitCode: dry.exitCode, stderr: dry.stderr, attempts: attempts.length }).toEqual({
      exitCode: 0,
      stderr: "",
      attempts: 4
    })
    expect(attempts[0]).toBe(`attempt 1 at 0 ms: touch '${files.path("it'\\''s")}'`)
    expect(() => files.read("it's")).toThrow("ENOENT")
    const real = await reprise(["run", "--policy", policy, "--seed", "7", "--", "false"])
    expect(attempts[1]).toContain(`at ${waits(real.stderr)[0]}:`)
  })
})

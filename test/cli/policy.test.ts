import { describe, expect, it } from "vitest"
import { reprise, workplace } from "./reprise.ts"

const explained = async (policy: string, env: Readonly<Record<string, string>> = {}) => {
  const { exitCode, stderr, stdout } = await reprise(["explain", policy, "--json"], { env })
  return { exitCode, stderr, policy: exitCode === 0 ? JSON.parse(stdout).policy : stdout }
}

describe("a POLICY", () => {
  it("is notation, and may name the predicates of Transience", async () => {
    const policy = "by(throttled: exponential(1s); otherwise: constant(1s)) | attempts(3) | while(transient)"
    expect(await explained(policy)).toMatchObject({ exitCode: 0, policy })
  })

  it("is a file, of several lines if it wants to be", async () => {
    using files = workplace({ "retry.policy": "constant(1s)\n  | jitter\n  | attempts(3)\n" })
    expect(await explained(`@${files.path("retry.policy")}`)).toMatchObject({
      policy: "constant(1s) | jitter | attempts(3)"
    })
  })

  it("is a preset, or what the environment says", async () => {
    expect(await explained("preset:standard")).toMatchObject({
      policy: "exponential(200ms) | cap(5s) | jitter | attempts(3)"
    })
    expect(await explained("env:RETRY", { RETRY: "constant(1s) | attempts(3)" })).toMatchObject({
      policy: "constant(1s) | attempts(3)"
    })
  })

  it("may be any preset that is listed", async () => {
    const { stdout } = await reprise(["presets", "--json"])
    const listed: ReadonlyArray<{ readonly name: string; readonly policy: string }> = JSON.parse(stdout)
    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(["standard", "aws-2026", "sidekiq"]))
    const all = await Promise.all(listed.map(({ name }) => explained(`preset:${name}`)))
    expect(all.map(({ policy }) => policy)).toEqual(listed.map(({ policy }) => policy))
  })

  it("given inline, shows where it goes wrong and what was meant", async () => {
    const { exitCode, stderr } = await explained("constant(1s) | atempts(3)")
    expect(exitCode).toBe(2)
    expect(stderr).toContain("did you mean attempts?")
    expect(stderr).toContain("constant(1s) | atempts(3)\n               ^")
  })

  it("from elsewhere, shows the place and none of the text: it may be a secret", async () => {
    using files = workplace({ secret: "constant(1s)\n| sk_live_1 | more" })
    expect(await explained("env:TOKEN", { TOKEN: "sk_live_1" })).toEqual({
      exitCode: 2,
      policy: "",
      stderr: "reprise: env:TOKEN holds no policy: see its column 1\n"
    })
    expect(await explained(`@${files.path("secret")}`)).toEqual({
      exitCode: 2,
      policy: "",
      stderr: `reprise: ${files.path("secret")} holds no policy: see its line 2, column 3\n`
    })
  })

  it.for(["preset:nothing", "preset:__proto__", "env:NOTHING_OF_THAT_NAME", "@/nothing/there", "@/dev/zero", ""])(
    "that is not there is wrong use: %s",
    async (policy) => {
      expect(await explained(policy)).toMatchObject({
        exitCode: 2,
        policy: "",
        stderr: expect.stringMatching(/^reprise: /)
      })
    }
  )
})

const wrong: ReadonlyArray<ReadonlyArray<string>> = [
  [],
  ["plna", "none"],
  ["plan"],
  ["plan", "none", "--attempt-timeout", "soon"],
  ["plan", "none", "--nothing"],
  ["check", "none"],
  ["run", "--policy", "constant(1s)", "--", "true"],
  ["run", "--policy", "none", "--retry-on", "0", "--", "true"],
  ["run", "--policy", "none"]
]

describe("wrong use", () => {
  it("ends with 2 and says why on standard error, where no stack belongs", async () => {
    for (const { stderr, ...outcome } of await Promise.all(wrong.map((args) => reprise(args)))) {
      expect(outcome).toEqual({ exitCode: 2, stdout: "" })
      expect(stderr).not.toBe("")
      expect(stderr).not.toContain("    at ")
    }
  })
})

describe("--help", () => {
  it("has examples for every command", async () => {
    const commands = ["plan", "check", "compare", "explain", "presets", "import", "run"]
    const pages = await Promise.all(commands.map((command) => reprise([command, "--help"])))
    for (const [index, { exitCode, stdout }] of pages.entries()) {
      expect(exitCode).toBe(0)
      expect(stdout).toMatch(new RegExp(`EXAMPLES[^]*\n  reprise ${commands[index]}\\b`))
    }
  })
})

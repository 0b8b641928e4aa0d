import { describe, expect, it } from "vitest"
import { reprise, workplace } from "./reprise.ts"

const imported = async (from: string, text: string) => {
  using files = workplace({ config: text })
  const { exitCode, stderr, stdout } = await reprise(["import", "--from", from, files.path("config"), "--json"])
  const found: ReadonlyArray<{ at: string; policy: string; unmapped: ReadonlyArray<{ field: string }> }> =
    exitCode === 0 ? JSON.parse(stdout) : []
  return {
    exitCode,
    stderr: stderr.replace(files.path("config"), "config"),
    found: found.map(({ at, policy, unmapped }) => ({ at, policy, unmapped: unmapped.map(({ field }) => field) }))
  }
}

describe("reprise import", () => {
  it("reads a gRPC service config", async () => {
    const { found } = await imported(
      "grpc",
      JSON.stringify({
        methodConfig: [{
          name: [{ service: "shop.Checkout" }],
          timeout: "5s",
          retryPolicy: {
            maxAttempts: 7,
            initialBackoff: "0.1s",
            maxBackoff: "1s",
            backoffMultiplier: 2,
            retryableStatusCodes: ["UNAVAILABLE"]
          }
        }],
        retryThrottling: { maxTokens: 10, tokenRatio: 0.1 }
      })
    )
    expect(found).toEqual([{
      at: "methodConfig[0].retryPolicy",
      policy: "exponential(100ms) | cap(1s) | jitter(0.8, 1.2) | attempts(5)",
      unmapped: ["maxAttempts", "maxBackoff", "retryableStatusCodes", "timeout", "retryThrottling"]
    }])
  })

  it("reads Envoy's YAML, aliases included", async () => {
    const { found } = await imported(
      "envoy",
      [
        "virtual_hosts:",
        "- retry_policy: &policy",
        "    retry_on: 5xx",
        "    num_retries: 3",
        "    per_try_timeout: 0.25s",
        "    retry_back_off: { base_interval: 0.1s }",
        "    rate_limited_retry_back_off: { reset_headers: [{ name: Retry-After, format: SECONDS }] }",
        "- retry_policy: *policy"
      ].join("\n")
    )
    const policy = "exponential(100ms) | cap(1s) | jitter | attempts(4) | retryAfter(5m)"
    const unmapped = ["retry_on", "per_try_timeout", "rate_limited_retry_back_off.reset_headers"]
    expect(found).toEqual([
      { at: "virtual_hosts[0].retry_policy", policy, unmapped },
      { at: "virtual_hosts[1].retry_policy", policy, unmapped }
    ])
  })

  it("reads Envoy's JSON, and knows its defaults", async () => {
    const { found } = await imported("envoy", "{\"retryPolicy\":{\"retryOn\":\"5xx\"}}")
    expect(found).toEqual([{
      at: "retryPolicy",
      policy: "exponential(25ms) | cap(250ms) | jitter | attempts(2)",
      unmapped: ["retryOn"]
    }])
  })

  it("reads a Temporal RetryPolicy, which has no end unless it says so", async () => {
    const temporal = "{\"initialInterval\":\"2s\",\"backoffCoefficient\":1.5,\"nonRetryableErrorTypes\":[\"Bad\"]}"
    expect((await imported("temporal", temporal)).found).toEqual([
      { at: "the file", policy: "exponential(2s, 1.5) | cap(200s) | unlimited", unmapped: ["nonRetryableErrorTypes"] }
    ])
    expect((await imported("temporal", "{\"maximumAttempts\":3}")).found[0]?.policy)
      .toBe("exponential(1s) | cap(100s) | attempts(3)")
  })

  it("reads every profile of an AWS shared config", async () => {
    const standard = "by(throttled: exponential(1s); otherwise: exponential(50ms)) | cap(20s) | jitter"
    const { found } = await imported(
      "aws",
      "[default]\nregion = eu-central-1\nretry_mode = standard\nmax_attempts = 5 # more\n[profile calm]\nretry_mode=adaptive\n[profile old]\nretry_mode=legacy\n"
    )
    expect(found).toEqual([
      { at: "[default]", policy: `${standard} | attempts(5)`, unmapped: ["retry_mode", "retry quota"] },
      { at: "[profile calm]", policy: `${standard} | attempts(3)`, unmapped: ["retry_mode", "retry quota"] },
      { at: "[profile old]", policy: "exponential(1s) | jitter | attempts(5)", unmapped: ["retry_mode"] }
    ])
  })

  it.for<readonly [what: string, field: string, value: string]>([
    ["retry_back_off", "retry_back_off.jitter", "retry_back_off: { base_interval: 1s, jitter: 3 }"],
    [
      "rate_limited_retry_back_off",
      "rate_limited_retry_back_off.burst",
      "rate_limited_retry_back_off: { max_interval: 1s, burst: 3 }"
    ]
  ])("lists what it does not know inside Envoy's %s", async ([, field, value]) => {
    const { found } = await imported("envoy", `retry_policy:\n  ${value}\n`)
    expect(found[0]?.unmapped).toEqual([field])
  })

  it("reads Temporal's zero intervals as none", async () => {
    const temporal = "{\"initialInterval\":\"0s\",\"maximumInterval\":{\"seconds\":\"0\"},\"maximumAttempts\":3}"
    expect((await imported("temporal", temporal)).found[0]?.policy)
      .toBe("exponential(1s) | cap(100s) | attempts(3)")
  })

  it("reads Temporal's zero coefficient as its default, as Temporal does, and says so", async () => {
    const temporal = "{\"backoffCoefficient\":0,\"maximumAttempts\":3}"
    expect((await imported("temporal", temporal)).found).toEqual([
      { at: "the file", policy: "exponential(1s) | cap(100s) | attempts(3)", unmapped: ["backoffCoefficient"] }
    ])
  })

  it("lists what is wrong inside a profile of an AWS shared config, and quotes no line of it", async () => {
    using files = workplace({
      config: [
        "secret: before any profile",
        "[default]",
        "max_attempts = 5",
        "",
        "# secret comment",
        "; another",
        "s3 =",
        "  secret_nested",
        "secret_line",
        "aws_secret_access_key = secret1",
        "aws_secret_access_key = secret2",
        "max_attempts = 7",
        "max_attempts = 9",
        "[profile other]",
        "secret_of_another",
        "region = eu-central-1"
      ].join("\n")
    })
    const { exitCode, stdout } = await reprise(["import", "--from", "aws", files.path("config")])
    const [first, ...rest] = stdout.trimEnd().split("\n")
    expect(exitCode).toBe(0)
    expect(first).toMatch(/^\[default\]: .* \| attempts\(9\)$/)
    expect(rest.slice(2)).toEqual([
      "  not in it: line 9 (no setting, as it has no =; some AWS SDKs refuse the file for that)",
      "  not in it: line 10 (aws_secret_access_key again in line 11; some AWS SDKs refuse the file for that)",
      "  not in it: max_attempts = \"5\" (again in line 12, which counts; some AWS SDKs refuse the file for that)",
      "  not in it: max_attempts = \"7\" (again in line 13, which counts; some AWS SDKs refuse the file for that)"
    ])
    expect(stdout).not.toMatch(/secret(?!_access_key again)/)
  })

  it("names a profile of an AWS shared config that would set something, were there an =", async () => {
    using files = workplace({ config: "[default]\nmax_attempts = 2\n[profile bad]\nmax_attempts: 5\n" })
    const { exitCode, stderr, stdout } = await reprise(["import", "--from", "aws", files.path("config")])
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: `reprise: ${files.path("config")}: [profile bad]: has no = after max_attempts: see line 4\n`
    })
    expect(stdout).toContain("[default]: ")
    expect(stdout).not.toContain("bad")
  })

  const good = { maxAttempts: 3, initialBackoff: "0.1s", maxBackoff: "1s", backoffMultiplier: 2 }

  it.for<readonly [from: string, text: string, at: ReadonlyArray<string>, problem: string]>([
    [
      "aws",
      "[default]\nmax_attempts = 2\n[profile bad]\nretry_mode = secret\n[profile good]\nmax_attempts = 4\n",
      ["[default]", "[profile good]"],
      "[profile bad]: has a retry_mode"
    ],
    [
      "grpc",
      JSON.stringify({
        methodConfig: [
          { name: [{ service: "Good" }], retryPolicy: good },
          { name: [{ service: "Bad", method: "Go" }], retryPolicy: { ...good, maxAttempts: "secret" } }
        ]
      }),
      ["methodConfig[0].retryPolicy"],
      "methodConfig[1].retryPolicy (Bad/Go): has a maxAttempts"
    ],
    [
      "envoy",
      "good: { retry_policy: { num_retries: 1 } }\nbad: { retry_policy: secret }\n",
      ["good.retry_policy"],
      "bad.retry_policy: has a policy that is no object"
    ],
    [
      "temporal",
      JSON.stringify({ good: { retryPolicy: {} }, bad: { retryPolicy: { maximumAttempts: 1, maximum_attempts: 2 } } }),
      ["good.retryPolicy"],
      "bad.retryPolicy: has maximum_attempts twice"
    ]
  ])("names the one that it cannot read, and goes on: %s", async ([from, text, at, problem]) => {
    using files = workplace({ config: text })
    const outcome = await reprise(["import", "--from", from, files.path("config"), "--json"])
    expect(outcome.exitCode).toBe(1)
    expect(JSON.parse(outcome.stdout).map((_: { readonly at: string }) => _.at)).toEqual(at)
    expect(outcome.stderr).toContain(problem)
    expect(outcome.stderr).not.toContain("secret")
  })

  it("reads many keys in little time", async () => {
    const keys = Array.from({ length: 60_000 }, (_, index) => `k${index}: 1`).join("\n")
    const started = performance.now()
    const { found } = await imported("envoy", `${keys}\nretry_policy: { num_retries: 1 }\n`)
    expect(found).toHaveLength(1)
    expect(performance.now() - started).toBeLessThan(5_000)
  })

  it("prints no control characters of the file", async () => {
    using files = workplace({
      config: JSON.stringify({ "a\u001b[2J": { retryPolicy: { ...good, "x\u009b1m": "y\u009b" } } })
    })
    const { stdout } = await reprise(["import", "--from", "grpc", files.path("config")])
    // oxlint-disable-next-line no-control-regex -- they are what is looked for
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
    expect(stdout).toContain("a\\u001b[2J.retryPolicy: ")
    expect(stdout).toContain("x\\u009b1m = \"y\\u009b\"")
  })

  const level = (name: string, of: string) =>
    `${name}: &${name} [${Array.from({ length: 9 }, () => `*${of}`).join(", ")}]`

  it.for<readonly [what: string, from: string, text: string, problem: string]>([
    ["a key __proto__ in JSON", "grpc", "{\"retryPolicy\":{\"__proto__\":{\"a\":1}}}", "__proto__, which is refused"],
    ["a key __proto__ in YAML", "envoy", "retry_policy:\n  __proto__: { a: 1 }\n", "__proto__, which is refused"],
    [
      "a bomb of aliases",
      "envoy",
      ["a: &a [x]", level("b", "a"), level("c", "b"), level("d", "c"), "retry_policy: { x: *d }"].join("\n"),
      "too many aliases"
    ],
    ["no YAML", "envoy", "retry_policy: [secret", "is no YAML: see line 1"],
    ["no JSON", "temporal", "secret", "is no JSON"],
    ["something else", "temporal", "{\"secret\":1}", "has no retry policy"],
    ["several documents", "envoy", "retry_policy: {}\n---\nretry_policy: { x: secret }\n", "several documents"],
    ["a key twice", "envoy", "retry_policy: {}\nsecret: 1\n'secret': 2\n", "the same key twice: see line 3"],
    ["a text for a back-off", "envoy", "retry_policy: { retry_back_off: secret }", "retry_back_off that is no object"],
    [
      "a text for the other back-off",
      "envoy",
      "retry_policy: { rate_limited_retry_back_off: [secret] }",
      "rate_limited_retry_back_off that is no object"
    ],
    [
      "seconds in hexadecimal",
      "temporal",
      "{\"initialInterval\":{\"seconds\":\"0x10\"}}",
      "initialInterval that is no"
    ],
    ["depth in YAML", "envoy", `a: ${"[".repeat(100_000)}${"]".repeat(100_000)}`, "YAML"],
    ["depth", "envoy", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "is too large"],
    ["a bad value", "temporal", "{\"initialInterval\":\"secret\"}", "initialInterval that is no duration"],
    ["a value against the rules", "temporal", "{\"backoffCoefficient\":0.5}", "exponential.factor must be"]
  ])("refuses %s, and quotes nothing of the file", async ([, from, text, problem]) => {
    const { exitCode, stderr } = await imported(from, text)
    expect(exitCode).toBe(2)
    expect(stderr).toContain(problem)
    expect(stderr).not.toContain("secret")
  })
})

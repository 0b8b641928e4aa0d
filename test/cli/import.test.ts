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
    ["depth", "envoy", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "is too large"],
    ["a bad value", "temporal", "{\"initialInterval\":\"secret\"}", "initialInterval that is no duration"],
    ["a value against the rules", "temporal", "{\"backoffCoefficient\":0}", "exponential.factor must be"]
  ])("refuses %s, and quotes nothing of the file", async ([, from, text, problem]) => {
    const { exitCode, stderr } = await imported(from, text)
    expect(exitCode).toBe(2)
    expect(stderr).toContain(problem)
    expect(stderr).not.toContain("secret")
  })
})

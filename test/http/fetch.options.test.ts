import { InvalidPolicy, Policy } from "@reprise/core"
import * as FetchRetry from "@reprise/http/FetchRetry"
import { describe, expect, it } from "vitest"
import { rejection } from "./fetchServer.ts"

const thrown = (options: unknown, policy?: unknown): unknown => {
  try {
    FetchRetry.fetch(policy as Policy.Policy, options as FetchRetry.Options)
  } catch (error) {
    expect(InvalidPolicy.is(error)).toBe(true)
    return String(error).replace("InvalidPolicy: ", "")
  }
  return "nothing"
}

describe("wrong uses", () => {
  it.each([
    [{ retries: 3 }, "fetch.retries must be one of the options"],
    [{ idempotencykey: true }, "fetch.idempotencykey must be one of the options"],
    [null, "fetch.options must be an object of options"],
    [{ attemptTimeout: 0 }, "fetch.attemptTimeout must be"],
    [{ attemptTimeout: Infinity }, "fetch.attemptTimeout must be"],
    [{ deadline: "soon" }, "fetch.deadline must be a finite duration"],
    [{ deadline: NaN }, "fetch.deadline must be a finite duration"],
    [{ budget: {} }, "fetch.budget must be"],
    [{ maxOrigins: 0 }, "fetch.maxOrigins must be an integer"],
    [{ bufferBody: -1 }, "fetch.bufferBody must be an integer"],
    [{ bufferBody: "1 MB" }, "fetch.bufferBody must be an integer"],
    [{ exhausted: "reponse" }, "fetch.exhausted must be \"error\" or \"response\", got \"reponse\""],
    [{ idempotencyKey: 17 }, "fetch.idempotencyKey must be true, a function, or a text"],
    [{ idempotencyKey: "" }, "fetch.idempotencyKey must be true, a function, or a text"],
    [{ idempotencyKeyForm: { header: "a b" } }, "fetch.idempotencyKeyForm.header must be"],
    [{ idempotencyKeyForm: { name: "a" } }, "fetch.idempotencyKeyForm.name must be one of"],
    [{ idempotent: "yes" }, "fetch.idempotent must be true, false or a function"],
    [{ fetch: "fetch" }, "fetch.fetch must be a function"],
    [{ when: true }, "fetch.when must be a function"],
    [{ onRetry: {} }, "fetch.onRetry must be a function"],
    [{ headers: { a: "b" } }, "fetch.headers must be"],
    [{ profile: "nobody" }, ""]
  ])("%j", (options, message) => {
    expect(thrown(options)).toContain(message)
  })

  it("a key is a secret, and in no message", () => {
    expect(thrown({ idempotencyKey: "secret\n" })).not.toContain("secret")
  })

  it("a policy without an end, and what is no policy", () => {
    expect(thrown({}, Policy.constant("1 second"))).toContain("say unlimited")
    expect(thrown({}, "standard")).toContain("fetch.policy must be a Policy")
    expect(thrown({}, { retries: 3 })).toContain("fetch.policy must be a Policy")
  })

  it("arguments that fetch does not take reject as there, at once", async () => {
    let attempts = 0
    const f = FetchRetry.fetch(undefined, {
      onRetry: () => attempts++
    })
    for (
      const [input, init] of [
        ["/relative"],
        ["http://a.example", { headers: { "a b": "c" } }],
        ["http://a.example", { method: "TRACE" }],
        ["http://a.example", { redirect: "never" as never }],
        ["http://user:password@a.example"]
      ] as ReadonlyArray<readonly [string, RequestInit?]>
    ) {
      expect(await rejection(f(input, init))).toBeInstanceOf(TypeError)
    }
    expect(await rejection(f(undefined as never))).toBeInstanceOf(TypeError)
    expect(attempts).toBe(0)
  })
})

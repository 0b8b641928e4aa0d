import { describe, expect, it } from "@effect/vitest"
import { Policy } from "@reprise/core"

describe("Policy.describe", () => {
  it.each<[policy: Policy.Any, sentence: string]>([
    [Policy.polynomial("1 second"), "Waits grow as 1 s times the retry's number to the power of 2."],
    [Policy.polynomial("1 second", 1), "Waits grow as 1 s times the retry's number."],
    [Policy.polynomial("1 second", 0, { offset: "2 seconds" }), "Waits of 1 s, plus 2 s."],
    [
      Policy.polynomial("1 second", 4, { start: 0, offset: "15 seconds", spread: "10 seconds" }).pipe(
        Policy.attempts(26)
      ),
      "Up to 26 attempts; waits grow as 1 s times the retry's number (the first is 0) to the power of 4, plus 15 s, " +
      "plus a draw from zero to 10 s for each retry so far."
    ]
  ])("%s", (policy, sentence) => {
    expect(Policy.describe(policy)).toBe(sentence)
  })
})

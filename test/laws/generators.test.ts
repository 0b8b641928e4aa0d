/** What the other laws are tried on: were a case missing here, they would hold of nothing. */
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Spec } from "@reprise/core"
import { hintKinds, policy, scriptWithTimeouts, tagOf, tags } from "./generators.ts"
import { samples } from "./forAll.ts"
import { precedence } from "./oracle.ts"
import { byOracle } from "./virtualTime.ts"

const size = 1000

/** Counts in how many samples each thing occurs. */
const counter = (): {
  readonly add: (things: Iterable<string>) => void
  readonly rare: (keys: Iterable<string>, percent: number) => ReadonlyArray<string>
  /** Everything that was counted, the most frequent first. */
  readonly shares: () => string
} => {
  const counts = new Map<string, number>()
  return {
    add: (things) => {
      for (const thing of new Set(things)) counts.set(thing, (counts.get(thing) ?? 0) + 1)
    },
    rare: (keys, percent) =>
      [...keys].filter((_) => (counts.get(_) ?? 0) < size * percent / 100).map((_) => `${_}: ${counts.get(_) ?? 0}`),
    shares: () =>
      [...counts].toSorted(([, a], [, b]) => b - a).map(([key, n]) => `${key} ${(n * 100 / size).toFixed(1)}`).join(
        ", "
      )
  }
}

const kinds: Record<Spec.Spec["_tag"], true> = {
  Exponential: true,
  Linear: true,
  Fibonacci: true,
  Polynomial: true,
  Constant: true,
  Decorrelated: true,
  Delays: true,
  Immediate: true,
  None: true,
  Jittered: true,
  Capped: true,
  Attempts: true,
  Recurs: true,
  Within: true,
  While: true,
  Until: true,
  WhileTag: true,
  HonoringRetryAfter: true,
  Unlimited: true,
  Concat: true,
  Max: true,
  Min: true,
  ByInput: true
}

const kindsIn = (spec: Spec.Spec): ReadonlyArray<string> => [spec._tag, ...Spec.children(spec).flatMap(kindsIn)]

describe(`of ${size} generated samples`, () => {
  const policies = samples(policy, size)
  const scripts = samples(scriptWithTimeouts, size)
  const counted = { policies: counter(), scripts: counter(), runs: counter() }

  afterAll(() => {
    const lines = Object.entries(counted).map(([what, counts]) => `${what.padEnd(8)}  ${counts.shares()}`)
    console.log([`In how many of ${size} samples, in percent:`, ...lines].join("\n"))
  })

  it("each constructor, combinator and combination is in at least 5 %", () => {
    const counts = counted.policies
    for (const { spec } of policies) counts.add(kindsIn(spec))
    expect(counts.rare(Object.keys(kinds), 5)).toEqual([])
  })

  it("each kind of hint, each tag and a timeout are in at least 5 %", () => {
    const counts = counted.scripts
    for (const script of scripts) {
      counts.add(script.flatMap(({ error, hint, timedOut }) => [hint, tagOf(error), timedOut ? "timed out" : "failed"]))
    }
    expect(counts.rare([...hintKinds, ...tags, "timed out"], 5)).toEqual([])
  })

  it("each end of a run is in at least 1 %, and most runs retry", () => {
    const counts = counted.runs
    for (const [index, policy] of policies.entries()) {
      const { end, waits } = byOracle(policy, scripts[index]!, () => 0.5)
      counts.add([end, ...(waits.length > 0 ? ["retried"] : []), ...(waits.length > 2 ? ["retried often"] : [])])
    }
    expect(counts.rare([...precedence, "Success"], 1)).toEqual([])
    expect(counts.rare(["retried"], 40)).toEqual([])
    expect(counts.rare(["retried often"], 15)).toEqual([])
  })
})

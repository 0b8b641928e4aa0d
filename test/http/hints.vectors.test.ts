// Every vector of test/fixtures/retry-after.json, under the profile of the vendor that it belongs to.
import { describe, expect, it } from "@effect/vitest"
import * as RetryHint from "@reprise/http/RetryHint"
import reference from "../fixtures/retry-after.json" with { type: "json" }

interface Vector {
  readonly id: string
  readonly group: string
  readonly source: string
  readonly headers: Record<string, string | ReadonlyArray<string>>
  readonly status?: number
  readonly body?: unknown
  readonly ownBackoffMs?: number
  readonly expectMs?: number | null
  readonly lenientMs?: number | null
  readonly expectRetry?: boolean | null
}

// The import has a type of its own for every shape of headers; they are all of this one.
const vectors = reference.vectors as unknown as ReadonlyArray<Vector>
const now = reference.nowMs

// The groups of vendors and the vectors that name one as their source; all others are the standard's.
const groups: Readonly<Record<string, RetryHint.ProfileName>> = {
  "grpc-pushback": "grpc",
  "retry-info": "google",
  github: "github",
  aws: "aws",
  anthropic: "anthropic",
  discord: "discord"
}
const sources: Readonly<Record<string, RetryHint.ProfileName>> = {
  openai: "openai",
  openaiReset: "openai",
  anthropic: "anthropic",
  azure: "azure",
  github: "github",
  discord: "discord",
  stripe: "stripe"
}
const profileOf = (vector: Vector): RetryHint.ProfileName =>
  groups[vector.group] ?? sources[vector.source] ?? "standard"

// A response with such headers and no status given is one that refuses for now.
const read = (vector: Vector, profile: RetryHint.ProfileName): RetryHint.Reading =>
  RetryHint.read({ status: vector.status ?? 429, headers: vector.headers, body: vector.body }, {
    now,
    profile,
    ownBackoff: vector.ownBackoffMs
  })

/** The wait that is of use; "null" in the vectors also stands for one that is too long. */
const usable = ({ hint, tooLong }: RetryHint.Reading): number | null =>
  hint === undefined || tooLong ? null : RetryHint.toMillis(hint, now) ?? null

/** With a delay of the client's own the vectors give the whole wait, which without a hint is that delay. */
const wait = (vector: Vector, reading: RetryHint.Reading): number | null =>
  usable(reading) ?? vector.ownBackoffMs ?? null

const expected = (vector: Vector): number | null => vector.expectMs ?? null

const title = (vector: Vector): string => `${vector.id} (${profileOf(vector)})`

const named = (of: ReadonlyArray<Vector>): ReadonlyArray<readonly [string, Vector]> =>
  of.map((vector) => [title(vector), vector])

describe("the reference", () => {
  it("is whole", () => {
    expect(vectors).toHaveLength(reference.counts.vectors)
    expect(new Set(vectors.map(({ id }) => id)).size).toBe(vectors.length)
  })
})

describe("the wait of every vector", () => {
  it.each(named(vectors))("%s", (_, vector) => {
    expect(wait(vector, read(vector, profileOf(vector)))).toBe(expected(vector))
  })
})

describe("the verdict of every vector that has one", () => {
  it.each(named(vectors.filter(({ expectRetry }) => expectRetry !== undefined)))("%s", (_, vector) => {
    expect(read(vector, profileOf(vector)).shouldRetry ?? null).toBe(vector.expectRetry)
  })

  it("is a wish not to be tried again only where the server says so, not where its status does", () => {
    const readings = vectors.map((vector) => read(vector, profileOf(vector)))
    const ending = readings.filter(({ decidedBy, shouldRetry }) => shouldRetry === false && decidedBy !== "status")
    expect(readings.filter(({ hint }) => hint?._tag === "DoNotRetry")).toEqual(ending)
  })
})

describe("the tolerant reading of every vector that has one", () => {
  it.each(named(vectors.filter(({ lenientMs }) => lenientMs !== undefined)))("%s", (_, vector) => {
    expect(usable(read(vector, "lenient"))).toBe(vector.lenientMs)
  })

  it("all others are read as strictly as ever", () => {
    const standard = vectors.filter((vector) => profileOf(vector) === "standard" && vector.lenientMs === undefined)
    const differing = standard.filter((vector) => usable(read(vector, "lenient")) !== expected(vector))
    expect(differing).toEqual([])
  })
})

describe("the profiles side by side", () => {
  it("the standard one reads a vendor's headers, but not its bodies, its statuses and its names", () => {
    const differing = vectors.filter((vector) => usable(read(vector, "standard")) !== expected(vector))
    expect(differing.map(({ id }) => id)).toEqual([
      // 60 seconds are openai-node's limit, not everybody's.
      "milliseconds-10",
      ...["01", "02", "07", "11"].map((number) => `grpc-pushback-${number}`),
      ...["01", "02", "04", "05", "06", "14"].map((number) => `retry-info-${number}`),
      "github-04",
      ...["01", "02", "03", "04", "05", "06", "07", "08", "09"].map((number) => `aws-${number}`),
      "anthropic-04",
      "anthropic-05",
      "discord-02"
    ])
  })

  it("a vendor's reads what the standard one reads", () => {
    const limited: ReadonlyArray<string> = ["seconds-05", "date-05"]
    for (const profile of ["anthropic", "azure", "discord", "google", "grpc", "stripe"] as const) {
      const standard = vectors.filter((vector) => profileOf(vector) === "standard")
      expect(standard.filter((vector) => usable(read(vector, profile)) !== expected(vector))).toEqual([])
    }
    // Two that openai-node waits for by its own backoff.
    for (const vector of vectors.filter(({ id }) => limited.includes(id))) {
      const { hint, tooLong } = read(vector, "openai")
      expect(hint && RetryHint.toMillis(hint, now)).toBe(vector.expectMs)
      expect(tooLong).toBe(true)
    }
  })

  it("RetryInfo is read by grpc as by google", () => {
    for (const vector of vectors.filter(({ group }) => group === "retry-info")) {
      expect(usable(read(vector, "grpc"))).toBe(expected(vector))
    }
  })

  it("a name that is none is the standard one", () => {
    for (const name of ["constructor", "__proto__", "opneai"]) {
      // A program in JavaScript may say anything.
      expect(RetryHint.profile(name as "standard").name).toBe("standard")
    }
  })
})

describe("too long, and not absent", () => {
  const of = (id: string): RetryHint.Reading => {
    const vector = vectors.find((vector) => vector.id === id)
    if (vector === undefined) throw new Error(`no vector ${id}`)
    return read(vector, profileOf(vector))
  }

  it.each(["seconds-09", "retry-info-12"])("%s is a wait without end", (id) => {
    expect(of(id)).toMatchObject({ hint: { _tag: "After", millis: Infinity }, tooLong: true })
  })

  it("what openai-node would not wait is told all the same", () => {
    expect(of("milliseconds-10")).toMatchObject({ hint: { _tag: "After", millis: 60_001 }, tooLong: true })
  })

  it("56 years are for the policy to turn down", () => {
    expect(of("invalid-23")).toMatchObject({ hint: { _tag: "After", millis: 1_768_478_430_000 }, tooLong: false })
  })
})

import { describe, expect, it } from "@effect/vitest"
import * as Transience from "@reprise/core/Transience"
import reference from "../fixtures/transience.json" with { type: "json" }

type Row = (typeof reference.rows)[number]

type Decision = readonly [transience: Transience.Transience, applied: Transience.Applied, reason: string]

// What the reference leaves open ("conditional": only under `needs`, or after reading more of the error), decided.
// A need that the policy meets (a short budget, a backoff) or that `applied` already carries (idempotent, the whole
// transaction) makes a code transient; one that only the caller can meet makes it terminal.
const decisions: Readonly<Record<string, Decision>> = {
  "http 401": ["terminal", "no", "the same credentials are refused again; with new ones it is another request"],
  "http 403": ["terminal", "no", "a refusal; transient with a hint, by which services mark their rate limits"],
  "http 409": ["terminal", "no", "a version conflict needs a re-read; transient with a hint"],
  "http 413": ["terminal", "no", "temporary only if the server says when to come back (RFC 9110, section 15.5.14)"],
  "http 420": ["transient", "no", "the old form of 429"],
  "http 423": ["terminal", "no", "nobody knows how long a lock is held; transient with a hint"],
  "http 440": ["terminal", "no", "needs a new login"],
  "http 499": ["terminal", "maybe", "the caller in front gave up: a cancellation"],
  "http 509": ["terminal", "no", "mostly a quota that lasts for hours; transient with a hint"],
  "http 525": ["transient", "no", "a handshake can fail now and then, and did nothing"],
  "http 527": ["transient", "maybe", "applied carries the condition"],
  "http 530": ["terminal", "no", "the real code is in the body"],
  "http 598": ["transient", "maybe", "applied carries the condition"],
  "http 599": ["transient", "maybe", "applied carries the condition"],

  "node ENOTFOUND": ["transient", "no", "sometimes a blip of DNS; the policy keeps the attempts few"],
  "node EAI_MEMORY": ["transient", "no", "a local shortage passes"],
  "node EREFUSED": ["terminal", "no", "this resolver will refuse again"],
  "node EBADRESP": ["transient", "no", "one broken answer to a question that changes nothing"],
  "node EADDRINUSE": ["terminal", "no", "a listener's port stays taken; transient when connecting"],
  "node EADDRNOTAVAIL": ["terminal", "no", "a listener's address stays absent; transient when connecting"],
  "node EMFILE": ["transient", "no", "a local shortage passes"],
  "node ENFILE": ["transient", "no", "a local shortage passes"],
  "node ENOBUFS": ["transient", "no", "a local shortage passes"],
  "node ENOMEM": ["transient", "no", "a local shortage passes"],
  "node EAGAIN": ["transient", "no", "says so itself"],
  "node EBUSY": ["transient", "no", "somebody else's use ends"],
  "node UND_ERR_INFO": ["transient", "maybe", "applied carries the condition"],
  "node UND_ERR_RESPONSE": ["unknown", "maybe", "decided by its statusCode, and here it has none"],
  "node UND_ERR_REQ_RETRY": ["unknown", "maybe", "decided by its statusCode, and here it has none"],
  "node UND_ERR_PRX_TLS": ["transient", "no", "a handshake can fail now and then, and did nothing"],
  "node UND_ERR_SOCKS5": ["transient", "no", "before the request, so a few attempts do no harm"],
  "node TimeoutError": ["transient", "maybe", "a deadline of the run's own ends it anyway"],
  "node ERR_HTTP2_STREAM_ERROR": ["transient", "maybe", "REFUSED_STREAM stands in the message only"],
  "node ERR_HTTP2_ERROR": ["transient", "maybe", "applied carries the condition"],
  "node ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR": ["transient", "no", "the peer's own trouble, before the request"],
  "node HPE_INTERNAL": ["transient", "maybe", "applied carries the condition"],

  "postgresql 40003": ["transient", "maybe", "applied carries the condition"],
  "postgresql 55006": ["transient", "no", "somebody else's use ends"],
  "postgresql 55000": ["terminal", "no", "mostly a state that stays"],
  "postgresql 08004": ["transient", "no", "a refused connection did nothing; the policy keeps the attempts few"],
  "postgresql 08007": ["transient", "maybe", "the commit may have happened: applied carries it"],
  "postgresql 53100": ["transient", "no", "a shortage passes"],
  "postgresql 53400": ["terminal", "no", "the same statement meets the same limit"],
  "postgresql 57014": ["transient", "no", "a statement timeout; the caller's own cancel is an interruption in Effect"],
  "postgresql 57000": ["terminal", "maybe", "an operator wanted it to end"],
  "postgresql 25P03": ["transient", "no", "the whole transaction was rolled back and may run again"],
  "postgresql 25P04": ["transient", "no", "the whole transaction was rolled back and may run again"],
  "postgresql 25006": ["terminal", "no", "the pool may give the same standby again; a rule knows if it does not"],
  "postgresql 58000": ["transient", "maybe", "applied carries the condition"],
  "postgresql 58030": ["transient", "maybe", "applied carries the condition"],
  "postgresql XX000": ["terminal", "maybe", "a bug, mostly deterministic; Npgsql does not retry it"],
  "postgresql 23505": ["terminal", "no", "the same key collides again"],
  "postgresql 23P01": ["terminal", "no", "the same value collides again"],

  "grpc 0": ["unknown", "maybe", "OK is no failure"],
  "grpc 2": ["terminal", "maybe", "generally not (AIP-194)"],
  "grpc 4": ["terminal", "maybe", "the deadline travels with the call: never automatically (AIP-194)"],
  "grpc 8": ["terminal", "no", "a quota may last for hours; transient with a hint"],
  "grpc 10": ["terminal", "no", "the caller has to read again first, a single call does not"],
  "grpc 13": ["terminal", "maybe", "generally not (AIP-194)"],
  "grpc 16": ["terminal", "no", "the same credentials are refused again"]
}

const verdictOf: Readonly<Record<string, Transience.Transience>> = { retryable: "transient", terminal: "terminal" }

const errorOf = ({ code, system }: Row): unknown => {
  switch (system) {
    case "http":
      return Object.assign(new Error("no message decides"), { status: code })
    case "grpc":
      return Object.assign(new Error("no message decides"), { code, details: "", metadata: {} })
    default:
      return code === "AbortError" || code === "TimeoutError"
        ? new DOMException("no message decides", code)
        : Object.assign(new Error("no message decides"), { code })
  }
}

const reader: Readonly<Record<string, Transience.Reader>> = { postgresql: "sqlstate" }

const rows = reference.rows.filter(({ code }) => code !== "class rule").map((row) => ({
  row,
  key: `${row.system} ${row.code}`
}))

describe("the table of codes", () => {
  it.each(rows)("$key", ({ key, row }) => {
    const decided = decisions[key] ?? [verdictOf[row.verdict], row.applied]
    const verdict = Transience.classify(errorOf(row))
    expect([verdict.transience, verdict.applied]).toEqual(decided.slice(0, 2))
    const [decider, code] = verdict.transience === "unknown"
      ? ["none", undefined]
      : [reader[row.system] ?? row.system, String(row.code)]
    expect(verdict).toMatchObject({ throttled: "throttling" in row, reader: decider, code })
  })

  it("decides every row that the reference leaves open, and no other", () => {
    const open = rows.filter(({ row }) => verdictOf[row.verdict] === undefined).map(({ key }) => key)
    expect(Object.keys(decisions).toSorted()).toEqual(open.toSorted())
  })
})

describe("a SQLSTATE outside of the table goes by its class", () => {
  it.each(
    [
      ["0800A", "transient", "maybe"],
      ["40XYZ", "transient", "no"],
      ["53999", "transient", "no"],
      ["57P99", "transient", "maybe"],
      ["57999", "terminal", "no"],
      ["42P07", "terminal", "no"],
      ["P0001", "terminal", "no"],
      ["XX999", "terminal", "maybe"]
    ] as const
  )("%s is %s, applied %s", (code, transience, applied) => {
    expect(Transience.classify({ code })).toMatchObject({ transience, applied, reader: "sqlstate", code })
  })
})

describe("an HTTP status outside of the table goes by its class", () => {
  it.each(
    [
      [432, "terminal", "no"],
      [555, "transient", "maybe"],
      [200, "unknown", "maybe"],
      [304, "unknown", "maybe"],
      [600, "unknown", "maybe"],
      [-1, "unknown", "maybe"]
    ] as const
  )("%s is %s, applied %s", (status, transience, applied) => {
    expect(Transience.classify({ status })).toMatchObject({ transience, applied })
  })
})

describe("what Node.js was seen to throw", () => {
  const expected: Readonly<Record<string, Transience.Transience>> = {
    AbortError: "terminal",
    // It has no code: undici gives it one where llhttp did.
    HTTPParserError: "terminal"
  }

  it.each(reference.nodeObservedErrors)("$scenario", ({ chain }) => {
    const error = chain.reduceRight<Error | undefined>(
      (cause, link) =>
        Object.assign(new Error("no message decides", cause === undefined ? {} : { cause }), {
          name: link.name,
          ...("code" in link ? { code: link.code } : {}),
          ...("syscall" in link ? { syscall: link.syscall } : {})
        }),
      undefined
    )
    const inner = chain.at(-1) ?? { name: "" }
    const code = "code" in inner ? String(inner.code) : ""
    const row = rows.find(({ row }) => row.code === code || row.code === inner.name)
    const expectedVerdict = expected[inner.name] ?? decisions[row?.key ?? ""]?.[0] ?? verdictOf[row?.row.verdict ?? ""]
    const { applied, transience } = Transience.classify(error)
    expect(transience).toBe(expectedVerdict)
    // Nothing was sent before the connection stood.
    expect(applied !== "no" && "syscall" in inner && inner.syscall === "connect").toBe(false)
  })
})

import { describe, expect, it } from "@effect/vitest"
import * as Transience from "@reprise/core/Transience"
import * as Cause from "effect/Cause"
import { RedisError } from "effect/persistence/Redis"
import * as redis from "redis"

type Row = readonly [code: string, transience: Transience.Transience, applied: Transience.Applied, reason: string]

/** What a server replies with. */
const replies: ReadonlyArray<Row> = [
  ["LOADING", "transient", "no", "it reads its data, and refuses all commands until then"],
  ["BUSY", "transient", "no", "a script or a module of somebody else runs, and no command is taken until it ends"],
  ["CLUSTERDOWN", "transient", "no", "a failover is under way, or the slot has no server yet"],
  ["TRYAGAIN", "transient", "no", "the keys are on their way to another server, and says so itself"],
  ["MASTERDOWN", "transient", "no", "a replica that has lost its master answers nothing until it has one"],
  ["READONLY", "transient", "no", "a failover has made it a replica; the name soon leads to the new master"],
  ["NOREPLICAS", "transient", "no", "too few replicas to write; they come back"],
  ["OOM", "transient", "no", "a shortage passes, as that of PostgreSQL (53200): keys expire"],
  ["UNBLOCKED", "transient", "no", "a failover ended a command that waited and had taken nothing"],
  ["NOAUTH", "terminal", "no", "without a password it is refused again"],
  ["WRONGPASS", "terminal", "no", "the same password is refused again"],
  ["NOPROTO", "terminal", "no", "it will not speak this version of the protocol later"],
  ["NOSCRIPT", "terminal", "no", "the script has to be sent first, which Effect does by itself"],
  ["EXECABORT", "terminal", "no", "one of the commands was wrong, and none was carried out"],
  ["CROSSSLOT", "terminal", "no", "the same keys are in the same slots"],
  ["MOVED", "terminal", "no", "another server has the slot: this one says so again, and a cluster's client goes there"],
  ["ASK", "terminal", "no", "as MOVED, while the slot moves"],
  ["MISCONF", "terminal", "no", "its disk has to be mended first"],
  ["ERR", "terminal", "maybe", "a wrong command, or a script that failed after it had written"],
  ["WRONGTYPE", "terminal", "maybe", "as ERR, in a script"],
  ["NOPERM", "terminal", "maybe", "as ERR, in a script"],
  ["BUSYGROUP", "terminal", "maybe", "the group is there, in a script as ERR"],
  ["BUSYKEY", "terminal", "maybe", "the key is there, in a script as ERR"],
  ["NOGROUP", "terminal", "maybe", "the group is not there, in a script as ERR"]
]

/** What the client says itself, which has no name and no code for it but the class. */
const clients: ReadonlyArray<readonly [...Row, error: Error]> = [
  ["ClientOfflineError", "transient", "no", "not sent, as there is no connection", new redis.ClientOfflineError()],
  ["ConnectionTimeoutError", "transient", "no", "nothing was sent yet", new redis.ConnectionTimeoutError()],
  ["RootNodesUnavailableError", "transient", "no", "nothing was sent yet", new redis.RootNodesUnavailableError()],
  ["SocketClosedUnexpectedlyError", "transient", "maybe", "no answer", new redis.SocketClosedUnexpectedlyError()],
  ["SocketTimeoutError", "transient", "maybe", "no answer", new redis.SocketTimeoutError(400)],
  ["TimeoutError", "transient", "maybe", "no answer", new redis.TimeoutError()],
  ["ClientClosedError", "terminal", "no", "it does not open again by itself", new redis.ClientClosedError()],
  ["DisconnectsClientError", "terminal", "maybe", "the program closed it", new redis.DisconnectsClientError()]
]

const classify = (cause: unknown) => Transience.classify(new RedisError({ cause }))

describe("RedisError", () => {
  it.each(replies)("%s: %s, applied %s (%s)", (code, transience, applied) => {
    expect(classify(new redis.SimpleError(`${code} no more of the message decides`))).toEqual({
      transience,
      applied,
      throttled: false,
      hint: undefined,
      reader: "redis",
      code
    })
  })

  it.each(clients)("%s: %s, applied %s (%s)", (code, transience, applied, _, cause) => {
    expect(classify(cause)).toMatchObject({ transience, applied, throttled: false, reader: "redis", code })
  })

  it("goes by the system code below", () => {
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" })
    expect(classify(refused)).toMatchObject({ transience: "transient", applied: "no", code: "ECONNREFUSED" })
  })

  it("of a client that gave up connecting goes by what it met last", () => {
    const refused = Object.assign(new Error("connect"), { code: "ECONNREFUSED", syscall: "connect" })
    const gaveUp = (met: Error) => new redis.ReconnectStrategyError(new Error("no more tries"), met)
    expect(classify(gaveUp(refused))).toMatchObject({ transience: "transient", applied: "no", code: "ECONNREFUSED" })
    expect(classify(gaveUp(new redis.SimpleError("WRONGPASS invalid")))).toMatchObject({
      transience: "terminal",
      code: "WRONGPASS"
    })
  })

  it("of Effect's own timeouts is transient", () => {
    expect(classify(new Cause.TimeoutError())).toMatchObject({ transience: "transient", applied: "maybe" })
  })

  it.each([
    ["a word that a script made up", new redis.SimpleError("SOLD out")],
    ["a word in the middle", new redis.SimpleError("the server is LOADING ")],
    ["part of a word", new redis.SimpleError("LOADINGS are many")],
    ["what is no error", "LOADING Redis is loading the dataset in memory"],
    ["nothing", undefined]
  ])("of %s is unknown", (_, cause) => {
    expect(classify(cause)).toMatchObject({ transience: "unknown", applied: "maybe", reader: "none" })
  })

  it("is what reads so: the same words in another error say nothing", () => {
    expect(Transience.isUnknown(new redis.SimpleError("LOADING Redis is loading the dataset in memory"))).toBe(true)
    expect(Transience.isUnknown({ _tag: "RedisError", cause: new Error("LOADING Redis is loading") })).toBe(true)
    expect(Transience.isUnknown({ code: "LOADING" })).toBe(true)
  })

  it("is read below an error that wraps it", () => {
    const error = { _tag: "StoreFailed", cause: new RedisError({ cause: new redis.SimpleError("NOAUTH needed") }) }
    expect(Transience.classify(error)).toMatchObject({ transience: "terminal", reader: "redis", code: "NOAUTH" })
  })
})

import * as RetryControl from "@reprise/core/RetryControl"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const refused = (text: string): RetryControl.InvalidControl => {
  const result = RetryControl.parse(text)
  if (Result.isSuccess(result)) throw new Error(`It was read: ${JSON.stringify(result.success)}`)
  return result.failure
}

const set = (control: RetryControl.RetryControl, state: RetryControl.State) =>
  Effect.runSync(Effect.provide(control.set(state), Logger.layer([])))

describe("RetryControl.parse", () => {
  it("reads all that a state can say", () => {
    const state = {
      retries: "on",
      ratio: 0.1,
      operations: { pay: { retries: "off" }, search: { ratio: 0 } },
      origins: { "https://api.example.com:8443": { ratio: 1 }, "db-3": { retries: "off" } },
      by: "ana",
      at: "2026-11-30T09:40:00Z",
      why: "the storm"
    } as const
    expect(RetryControl.parse(JSON.stringify(state))).toEqual(Result.succeed(state))
    expect(RetryControl.parse(" {}\n")).toEqual(Result.succeed({}))
  })

  it.each([
    ["{\"retries\":\"of\"}", "retries must be \"on\" or \"off\", got \"of\""],
    ["{\"ratio\":1.5}", "ratio must be a number from 0 to 1, got 1.5"],
    ["{\"ratio\":-0.1}", "ratio must be a number from 0 to 1, got -0.1"],
    ["{\"ratio\":\"0.1\"}", "ratio must be a number from 0 to 1, got \"0.1\""],
    ["{\"ratio\":null}", "ratio must be a number from 0 to 1, got null"],
    [
      "{\"operation\":{}}",
      "The key operation must be one of retries, ratio,…(did you mean operations?), got \"operation\""
    ],
    [
      "{\"operations\":{\"pay\":{\"retry\":\"off\"}}}",
      "The key operations[\"pay\"].retry must be one of retries, ratio…"
    ],
    ["{\"operations\":{\"pay\":{\"ratio\":2}}}", "operations[\"pay\"].ratio must be a number from 0 to 1, got 2"],
    ["{\"operations\":{\"pay\":null}}", "operations[\"pay\"] must be an object with retries or ratio, got null"],
    ["{\"operations\":[]}", "operations must be an object of entries by operation, got a list"],
    ["{\"operations\":{\"\":{}}}", "The key operations[\"\"] must be a name of 1 to 256 characters, got \"\""],
    [
      "{\"origins\":{\"https://a.b/\":{}}}",
      "The key origins[\"https://a.b/\"] must be an origin such as…, got \"https://a.b/\""
    ],
    ["{\"origins\":{\"https://A.b\":{}}}", "The key origins[\"https://A.b\"] must be an origin such as…"],
    ["{\"by\":\"a\\nb\"}", "by must be a line of at most 256 characters, got \"a\\nb\""],
    ...["2028", "2029", "202e", "2066", "2069", "0085"].map((code) => [
      `{"by":"a\\u${code}b"}`,
      `by must be a line of at most 256 characters, got "a\\u${code}b"`
    ]),
    [
      "{\"operations\":{\"a\\u202eb\":{}}}",
      "The key operations[\"a\\u202eb\"] must be a name of 1 to 256 characters, got…"
    ],
    ["{\u{e0001}}", "Line 1, column 2 must be JSON, got \"\\udb40\\udc01\""],
    ["{\"a\\nb\":1}", "The key \"a\\nb\" must be one of…"],
    ["{\"retries\":\"off\",\"retries\":\"on\"}", "The key retries must be given once, not twice, got \"retries\""],
    ["{\"retries\":\"off\",\"r\\u0065tries\":\"on\"}", "The key retries must be given once…"],
    [
      "{\"operations\":{\"a\":{\"retries\":\"on\" , \"retries\" :\"off\"}}}",
      "The key operations[\"a\"].retries must be given once…"
    ],
    ["{\"origins\":{\"a\":{},\"b\":{},\"a\":{}}}", "The key origins[\"a\"] must be given once, not twice, got \"a\""],
    ["{\"operations\":[{\"a\":[]}],\"operations\":{}}", "The key operations must be given once…"],
    ["{\"why\":5}", "why must be a line of at most 256 characters, got 5"],
    ["[]", "The state must be a JSON object, got a list"],
    ["null", "The state must be a JSON object, got null"],
    ["\"off\"", "The state must be a JSON object, got \"off\""],
    ["", "Line 1, column 1 must be JSON, got \"the end of the text\""],
    ["{\"retries\":\"off\"", "Line 1, column 17 must be JSON, got \"the end of the text\""],
    ["{\n  \"retries\": off\n}", "Line 2, column 14 must be JSON, got \"off\""],
    ["{\"retries\":,}", "Line 1, column 12 must be JSON, got \",\""],
    ["{\"retries\":\"off\",}", "Line 1, column 18 must be JSON, got \"}\""],
    ["{\"a\":[1,{}],\"b\" 2}", "Line 1, column 17 must be JSON, got \"2\""],
    ["{}{}", "Line 1, column 3 must be JSON, got \"{\""],
    ["\uFEFF{}", "Line 1, column 1 must be JSON, got \"\\ufeff\""],
    ["{'retries':'off'}", "Line 1, column 2 must be JSON, got \"'\""]
  ])("refuses %s", (text, message) => {
    const { message: said } = refused(text)
    // An ellipsis stands for anything.
    const parts = message.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    expect(said).toMatch(new RegExp(`^${parts.join(".*")}$`))
  })

  it("takes the same key in two objects, and what is in a text, for no duplicate", () => {
    const state = {
      operations: { "ratio\":\"": { ratio: 1 }, "{": { ratio: 1 }, retries: {} },
      origins: { retries: { ratio: 1 } },
      retries: "on",
      ratio: 1,
      why: "{\"retries\":\"off\",\"retries\":\\"
    } as const
    expect(RetryControl.parse(JSON.stringify(state, undefined, 2))).toEqual(Result.succeed(state))
  })

  it("finds a duplicate in the longest text at once", () => {
    const shadowed = [
      `${"[".repeat(30_000)}${"]".repeat(30_000)}`,
      `"${"\\\"".repeat(30_000)}"`,
      `{"x":`.repeat(10_000) + "1" + "}".repeat(10_000)
    ]
    const begun = performance.now()
    for (const value of shadowed) {
      const { message } = refused(`{"why":${value},"why":"a"}`)
      expect(message).toBe("The key why must be given once, not twice, got \"why\"")
    }
    const entries = Array.from({ length: 4000 }, (_, n) => `"n${n}":{}`).join()
    expect(Result.isSuccess(RetryControl.parse(`{"operations":{${entries}}}`))).toBe(true)
    expect(performance.now() - begun).toBeLessThan(1000)
  })

  it("finds a place in every text that JSON refuses", () => {
    const json = "{\"a\": [1, -2.5e3, \"\\u00e9\", true, null], \"b\": {}}"
    for (let at = 0; at < json.length; at++) {
      for (const text of [json.slice(0, at), `${json.slice(0, at)}\u0001${json.slice(at)}`, json.slice(at + 1)]) {
        const result = RetryControl.parse(text)
        expect(Result.isFailure(result) && result.failure.message).toMatch(/ must be /)
      }
    }
  })

  it("refuses a prototype wherever it may stand", () => {
    for (
      const text of [
        "{\"__proto__\":X}",
        "{\"operations\":{\"__proto__\":X}}",
        "{\"origins\":{\"a\":{\"__proto__\":X}}}"
      ]
    ) {
      expect(refused(text.replace("X", "{\"retries\":\"off\"}")).message).toMatch(/^The key .*__proto__.* must be /)
    }
  })

  it("says nothing of the text but the faulty place", () => {
    const text = JSON.stringify({ why: "secret", operations: { secret: {} }, ratio: { secret: "secret" } })
    expect(refused(text).message).not.toContain("secret")
    expect(refused(`{"why":"secret" secret-and-much-more-of-it}`).message.length).toBeLessThan(80)
    expect(refused(JSON.stringify({ by: "x".repeat(1000) })).message.length).toBeLessThan(120)
    expect(refused(JSON.stringify({ ["x".repeat(1000)]: 1 })).message.length).toBeLessThan(200)
  })

  it("refuses a text of more than 65,536 characters unread", () => {
    expect(RetryControl.parse(`{}${" ".repeat(65_534)}`)).toEqual(Result.succeed({}))
    expect(refused(`{}${" ".repeat(65_535)}`).rule).toBe("at most 65536 characters long")
  })

  it("is a typed error", () => {
    const error = refused("{\"ratio\":2}")
    expect(error).toMatchObject({ _tag: "InvalidControl", place: "ratio", value: 2, rule: "a number from 0 to 1" })
    expect(RetryControl.isInvalidControl(error)).toBe(true)
  })

  it("has a schema that says the same", () => {
    const decode = Schema.decodeUnknownResult(RetryControl.State, { onExcessProperty: "error" })
    expect(Result.isSuccess(decode({ operations: { pay: { ratio: 0.5 } } }))).toBe(true)
    expect(Result.isSuccess(decode({ operations: { pay: { ratio: 5 } } }))).toBe(false)
  })
})

describe("what a switch says", () => {
  const off = { off: true, meter: undefined }
  const metered = { off: false, meter: expect.anything() }

  it("is nothing where nothing is switched", () => {
    const states: ReadonlyArray<RetryControl.State> = [
      {},
      { retries: "on" },
      { operations: { pay: { retries: "on" }, other: {} } }
    ]
    for (const state of states) {
      const control = RetryControl.make(state)
      expect(control.setting(undefined, undefined)).toBeUndefined()
      expect(control.setting("pay", "https://a.b")).toBeUndefined()
    }
  })

  it("is the strictest of what applies", () => {
    const control = RetryControl.make({
      ratio: 0.5,
      operations: { pay: { ratio: 0.1 }, search: { retries: "off" }, list: { retries: "on" }, zero: { ratio: 0 } },
      origins: { a: { ratio: 0.2 }, b: { retries: "off", ratio: 1 } }
    })
    expect(control.setting(undefined, undefined)).toMatchObject(metered)
    expect(control.setting("unknown", "unknown")).toBe(control.setting(undefined, undefined))
    expect(control.setting("list", undefined)).toBe(control.setting(undefined, undefined))
    expect(control.setting("pay", undefined)).toMatchObject(metered)
    expect(control.setting("pay", "a")).toMatchObject(metered)
    expect(control.setting("search", undefined)).toMatchObject(off)
    expect(control.setting("search", "a")).toMatchObject(off)
    expect(control.setting("zero", "a")).toMatchObject(off)
    expect(control.setting("pay", "b")).toMatchObject(off)
    expect(control.setting(undefined, "b")).toMatchObject(off)
  })

  it("is off everywhere when everything is off, whatever an entry says", () => {
    const control = RetryControl.make({ retries: "off", operations: { pay: { retries: "on", ratio: 1 } } })
    expect(control.setting("pay", undefined)).toMatchObject(off)
    expect(control.setting(undefined, "a")).toMatchObject(off)
  })

  it("knows no name that an object inherits", () => {
    const control = RetryControl.make(
      Result.getOrThrow(RetryControl.parse("{\"operations\":{\"constructor\":{\"retries\":\"off\"}}}"))
    )
    expect(control.setting("toString", "hasOwnProperty")).toBeUndefined()
    expect(control.setting("constructor", undefined)).toMatchObject(off)
  })

  it("is the same object again, so that asking allocates nothing", () => {
    const control = RetryControl.make({
      ratio: 0.5,
      operations: { pay: { ratio: 0.1 } },
      origins: { a: { ratio: 0.2 } }
    })
    for (const [operation, origin] of [[], ["pay"], [undefined, "a"], ["pay", "a"]]) {
      expect(control.setting(operation, origin)).toBe(control.setting(operation, origin))
    }
  })

  it("keeps a bounded number of pairs", () => {
    const names = Array.from({ length: 100 }, (_, index) => `n${index}`)
    const entries = Object.fromEntries(names.map((name) => [name, { ratio: 0.5 }]))
    const control = RetryControl.make({ operations: entries, origins: entries })
    const first = control.setting("n0", "n0")
    for (const operation of names) for (const origin of names) control.setting(operation, origin)
    expect(control.setting("n0", "n0")).toMatchObject(metered)
    expect(control.setting("n0", "n0")).not.toBe(first)
  })

  it("allows of two ratios what both allow, and counts each once", () => {
    const control = RetryControl.make({
      ratio: 1,
      operations: { pay: { ratio: 0.5 } },
      origins: { a: { ratio: 0.25 } }
    })
    const all = control.setting(undefined, undefined)!.meter!
    const both = control.setting("pay", "a")!.meter!
    for (let request = 0; request < 100; request++) both.request(0)
    expect(all.balance(0)).toBe(100)
    expect(control.setting("pay", undefined)!.meter!.balance(0)).toBe(50)
    expect(control.setting(undefined, "a")!.meter!.balance(0)).toBe(25)
    expect(both.balance(0)).toBe(25)
    expect(both.withdraw(0, { error: "", timedOut: false })).toBeDefined()
    expect(all.balance(0)).toBe(99)
    expect(both.balance(0)).toBe(24)
  })

  it("has no retry in reserve", () => {
    const { meter } = RetryControl.make({ ratio: 0.1 }).setting(undefined, undefined)!
    expect(meter!.balance(0)).toBe(0)
    for (let request = 0; request < 9; request++) meter!.request(0)
    expect(meter!.withdraw(0, { error: "", timedOut: false })).toBeUndefined()
    meter!.request(0)
    expect(meter!.withdraw(0, { error: "", timedOut: false })).toBeDefined()
    expect(meter!.withdraw(0, { error: "", timedOut: false })).toBeUndefined()
  })
})

describe("RetryControl.set", () => {
  it("takes the place of the whole state", () => {
    const control = RetryControl.make({ retries: "off" })
    set(control, { operations: { pay: { retries: "off" } } })
    expect(control.setting(undefined, undefined)).toBeUndefined()
    expect(control.setting("pay", undefined)?.off).toBe(true)
    expect(Effect.runSync(control.state)).toEqual({ operations: { pay: { retries: "off" } } })
  })

  it("keeps what a ratio has counted as long as the ratio stays", () => {
    const control = RetryControl.make({ ratio: 0.5, operations: { pay: { ratio: 0.1 } } })
    const all = control.setting(undefined, undefined)!.meter
    set(control, { ratio: 0.5, operations: { search: { ratio: 0.1 } }, by: "ana" })
    expect(control.setting(undefined, undefined)!.meter).toBe(all)
    set(control, { ratio: 0.4 })
    expect(control.setting(undefined, undefined)!.meter).not.toBe(all)
  })

  it("mixes up no scopes that have one name", () => {
    const control = RetryControl.make({ operations: { a: { ratio: 0.5 } } })
    const before = control.setting("a", undefined)!.meter
    set(control, { origins: { a: { ratio: 0.5 } } })
    expect(control.setting("a", undefined)).toBeUndefined()
    expect(control.setting(undefined, "a")!.meter).not.toBe(before)
  })

  it("refuses a state that breaks a rule, and keeps the one it has", () => {
    const control = RetryControl.make({ retries: "off" })
    const error = Effect.runSync(Effect.flip(control.set({ ratio: Number.NaN })))
    expect(error.message).toBe("ratio must be a number from 0 to 1, got NaN")
    expect(control.setting(undefined, undefined)?.off).toBe(true)
    expect(() => RetryControl.make({ ratio: 2 })).toThrow("ratio must be a number from 0 to 1, got 2")
  })

  it("is not changed by what is done later to the object that was given", () => {
    const state = { operations: { pay: { retries: "off" as "on" | "off" } } }
    const control = RetryControl.make()
    set(control, state)
    state.operations.pay.retries = "on"
    expect(Effect.runSync(control.state)).toEqual({ operations: { pay: { retries: "off" } } })
  })

  it("logs each change once, with who, when and why", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
    const control = RetryControl.make()
    const changes: ReadonlyArray<RetryControl.State> = [
      {},
      { retries: "off", by: "ana", at: "09:40", why: "the storm" },
      { retries: "off", by: "ana", at: "09:40", why: "the storm" },
      { ratio: 0.1, operations: { pay: { retries: "off" }, list: {} }, origins: { "https://a.b": { ratio: 0.2 } } },
      { operations: Object.fromEntries(Array.from({ length: 13 }, (_, index) => [`n${index}`, { ratio: 0 }])) },
      {}
    ]
    Effect.runSync(
      Effect.forEach(changes, control.set).pipe(Effect.provide(Logger.layer([logger])))
    )
    expect(lines.map((line) => line.replace(/("n\d".*)"n9"/, "…"))).toEqual([
      "Info Retries switched by the program: off for everything; by ana; at 09:40; the storm",
      "Info Retries switched by the program: at most 0.1 to a request for everything, off for operation \"pay\", " +
      "at most 0.2 to a request for origin \"https://a.b\"",
      "Info Retries switched by the program: off for operation …, and 3 more",
      "Info Retries switched by the program: on"
    ])
  })
})

describe("several switches", () => {
  const off = RetryControl.make({ operations: { pay: { retries: "off" } } })
  const ratio = RetryControl.make({ ratio: 0.5, operations: { list: { ratio: 0.4 } } })
  const none = RetryControl.make()

  it("hold together, and the strictest counts", () => {
    const control = RetryControl.all([none, off, ratio])
    expect(control.setting("pay", undefined)?.off).toBe(true)
    expect(control.setting("list", undefined)).toBe(ratio.setting("list", undefined))
    expect(RetryControl.all([none, off]).setting("list", undefined)).toBeUndefined()
    expect(RetryControl.all([]).setting("list", undefined)).toBeUndefined()
  })

  it("give the same object again", () => {
    const control = RetryControl.all([ratio, RetryControl.make({ ratio: 0.3 }), RetryControl.make({ ratio: 0.2 })])
    const setting = control.setting("list", undefined)!
    expect(control.setting("list", undefined)).toBe(setting)
    for (let request = 0; request < 100; request++) setting.meter!.request(0)
    expect(setting.meter!.balance(0)).toBe(20)
  })

  it("count one switch that is named twice once", () => {
    const setting = RetryControl.all([ratio, ratio]).setting(undefined, undefined)
    expect(setting).toBe(ratio.setting(undefined, undefined))
  })

  it("meet as layers, where one is provided to the other", () => {
    const both = RetryControl.layer(off).pipe(Layer.provide(RetryControl.layer(ratio)))
    const control = Effect.runSync(Effect.provide(RetryControl.Current, both))
    expect(control?.setting("pay", undefined)?.off).toBe(true)
    expect(control?.setting(undefined, undefined)).toBe(ratio.setting(undefined, undefined))
  })

  it("are none by default", () => {
    expect(Context.get(Context.empty(), RetryControl.Current)).toBeUndefined()
    const control = Effect.runSync(Effect.provide(RetryControl.Current, RetryControl.layer(off)))
    expect(control?.setting("pay", undefined)).toBe(off.setting("pay", undefined))
  })

  it.each([[[off, none]], [[none, off]], [[off, ratio]], [[ratio, off]]])(
    "meet as layers side by side, in any order",
    ([one, other]) => {
      const [left, right] = [RetryControl.layer(one!), RetryControl.layer(other!)]
      const setting = Effect.map(RetryControl.Current, (_) => _?.setting("pay", undefined))
      for (const layer of [Layer.merge(left, right), Layer.mergeAll(left, Layer.empty, right)]) {
        expect(Effect.runSync(Effect.provide(setting, layer))?.off).toBe(true)
      }
      expect(Effect.runSync(Effect.provide(setting, [left, right]))?.off).toBe(true)
    }
  )

  it.effect("meet where one is built later, and beside one that stands around both", () =>
    Effect.gen(function* () {
      const late = Layer.unwrap(Effect.as(Effect.yieldNow, RetryControl.layer(off)))
      const control = yield* RetryControl.Current.pipe(
        Effect.provide(Layer.mergeAll(late, RetryControl.layer(none)).pipe(Layer.provide(RetryControl.layer(ratio))))
      )
      expect(control?.setting("pay", undefined)?.off).toBe(true)
      expect(control?.setting(undefined, undefined)).toBe(ratio.setting(undefined, undefined))
    }))

  it.effect("meet nobody else's, before or after", () =>
    Effect.gen(function* () {
      const isOff = Effect.map(RetryControl.Current, (_) => _?.setting("pay", undefined)?.off === true)
      const memoMap = yield* Layer.makeMemoMap
      const build = (layer: Layer.Layer<never>) =>
        Effect.scoped(Effect.flatMap(Effect.scope, (scope) =>
          Effect.map(
            Layer.buildWithMemoMap(layer, memoMap, scope),
            (context) => Context.get(context, RetryControl.Current)
          )))
      const gone = yield* build(RetryControl.layer(off))
      const next = yield* build(RetryControl.layer(none))
      expect(next?.setting("pay", undefined)).toBeUndefined()
      // A run that outlives its layer is not switched on again.
      expect(gone?.setting("pay", undefined)?.off).toBe(true)
      const siblings = [RetryControl.layer(off), RetryControl.layer(none)].map((layer) => Effect.provide(isOff, layer))
      expect(yield* Effect.all(siblings, { concurrency: 2 })).toEqual([true, false])
      expect(yield* Effect.all(siblings, { concurrency: 2 }).pipe(Effect.provide(RetryControl.layer(none)))).toEqual(
        [true, false]
      )
    }))
})

describe("RetryControl.layerRedis and publish", () => {
  it.each([
    [{ key: "" }, "layerRedis.key must be a text that is not empty, got \"\""],
    [{ channel: "" }, "layerRedis.channel must be a text that is not empty, got \"\""],
    [{ poll: 0 }, "layerRedis.poll must be a finite duration of at least 10 ms, got 0"]
  ])("refuse %j", (options, message) => {
    expect(() => RetryControl.layerRedis(options)).toThrow(`RetryControl.${message}`)
  })

  it("refuse a key that is empty", () => {
    expect(() => RetryControl.publish({}, { key: "" })).toThrow("RetryControl.publish.key must be a text")
  })
})

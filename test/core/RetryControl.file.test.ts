import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as RetryControl from "@reprise/core/RetryControl"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { spawnSync } from "node:child_process"
import { appendFileSync, chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { until } from "./until.ts"

const off = JSON.stringify({ retries: "off", by: "ana" })

interface Followed {
  readonly control: RetryControl.Control
  readonly path: string
  readonly folder: string
  readonly isOff: () => boolean
  /** Waits until it is so, and says for how many milliseconds. */
  readonly until: (condition: () => boolean) => Effect.Effect<number>
  readonly logged: (text: string) => number
  readonly lines: ReadonlyArray<string>
}

/** A file that is followed, in a folder of its own. */
const followed = (
  options: { readonly poll?: Duration.Input; readonly initial?: string; readonly around?: Layer.Layer<never> }
) =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const folder = yield* files.makeTempDirectoryScoped()
    const path = join(folder, "retries.json")
    if (options.initial !== undefined) writeFileSync(path, options.initial)
    const lines: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
    const layer = RetryControl.layerFile({ path, ...(options.poll === undefined ? {} : { poll: options.poll }) })
    const context = yield* Layer.build(
      layer.pipe(Layer.provide([Logger.layer([logger]), options.around ?? Layer.empty]))
    )
    const control = Context.get(context, RetryControl.Current)!
    const followed: Followed = {
      control,
      path,
      folder,
      isOff: () => control.setting(undefined, undefined)?.off === true,
      until: (condition) => Effect.promise(() => until(condition, { lines, most: 5_000 })),
      logged: (text) => lines.filter((line) => line.includes(text)).length,
      lines
    }
    return followed
  })

const pause = (millis: number) => Effect.promise(() => setTimeout(millis))

/** Without events, as on a network's file system. */
const deaf = Layer.effect(
  FileSystem.FileSystem,
  Effect.map(FileSystem.FileSystem, (files) => ({ ...files, watch: () => Stream.never }))
).pipe(Layer.provide(NodeFileSystem.layer))

const provided = Effect.provide(NodeFileSystem.layer)

describe.each(
  [
    { by: "by its events", files: NodeFileSystem.layer, poll: "1 hour" },
    { by: "by the poll", files: deaf, poll: "20 millis" }
  ] as const
)("a file is followed $by", ({ files, poll }) => {
  it.live("when it is written", () =>
    Effect.gen(function* () {
      const { isOff, logged, path, until } = yield* followed({ poll })
      expect(isOff()).toBe(false)
      writeFileSync(path, off)
      expect(yield* until(isOff)).toBeLessThan(1_000)
      expect(logged(`Info Retries switched by file ${path}: off for everything; by ana`)).toBe(1)
      writeFileSync(path, "{}")
      expect(yield* until(() => !isOff())).toBeLessThan(1_000)
    }).pipe(Effect.provide(files)))

  it.live("when another is put in its place", () =>
    Effect.gen(function* () {
      const { folder, isOff, path, until } = yield* followed({ poll, initial: "{}" })
      for (const text of [off, "{}", off]) {
        writeFileSync(join(folder, "new"), text)
        renameSync(join(folder, "new"), path)
        expect(yield* until(() => isOff() === (text === off))).toBeLessThan(1_000)
      }
    }).pipe(Effect.provide(files)))
})

describe("a file", () => {
  it.live("is read before the layer is built", () =>
    Effect.gen(function* () {
      const { isOff } = yield* followed({ poll: "1 hour", initial: off })
      expect(isOff()).toBe(true)
    }).pipe(provided))

  it.live("may be a link, whose end is switched without an event", () =>
    Effect.gen(function* () {
      const { folder, isOff, path, until } = yield* followed({ poll: "20 millis" })
      mkdirSync(join(folder, "v1"))
      mkdirSync(join(folder, "v2"))
      writeFileSync(join(folder, "v1/retries.json"), off)
      writeFileSync(join(folder, "v2/retries.json"), "{}")
      // As Kubernetes mounts a ConfigMap.
      symlinkSync("v1", join(folder, "..data"))
      symlinkSync("..data/retries.json", path)
      yield* until(isOff)
      symlinkSync("v2", join(folder, "..new"))
      renameSync(join(folder, "..new"), join(folder, "..data"))
      yield* until(() => !isOff())
    }).pipe(provided))

  it.live("that is half-written changes nothing, and is no news", () =>
    Effect.gen(function* () {
      const { isOff, lines, path, until } = yield* followed({ poll: "200 millis", initial: off })
      const text = JSON.stringify({ retries: "on", by: "bob" })
      writeFileSync(path, "")
      for (const character of text.slice(0, -1)) {
        appendFileSync(path, character)
        yield* pause(3)
        expect(isOff()).toBe(true)
      }
      appendFileSync(path, "}")
      yield* until(() => !isOff())
      expect(lines.filter((line) => line.startsWith("Warn"))).toEqual([])
    }).pipe(provided))

  it.live("that is malformed changes nothing and is warned of once for each content", () =>
    Effect.gen(function* () {
      const { isOff, lines, logged, path, until } = yield* followed({ poll: "20 millis", initial: off })
      writeFileSync(path, "{ \"why\": \"secret\", \"retrys\": \"on\" }")
      yield* until(() => logged("Warn") === 1)
      yield* pause(150)
      writeFileSync(path, "{ \"retries\": \"onn\" }")
      yield* until(() => logged("Warn") === 2)
      yield* pause(150)
      expect(isOff()).toBe(true)
      const start = `Warn The switch of retries in file ${path} is malformed, and the last state stays: `
      expect(lines.filter((line) => line.startsWith("Warn"))).toEqual([
        `${start}The key retrys must be one of retries, ratio, operations, origins, by, at, why ` +
        "(did you mean retries?), got \"retrys\"",
        `${start}retries must be "on" or "off", got "onn"`
      ])
      writeFileSync(path, "{}")
      yield* until(() => !isOff())
    }).pipe(provided))

  it.live("that is malformed from the start leaves retries on, and the program starts", () =>
    Effect.gen(function* () {
      const { isOff, logged, path, until } = yield* followed({ poll: "20 millis", initial: "off" })
      yield* until(() => logged("Warn") === 1)
      expect(isOff()).toBe(false)
      writeFileSync(path, off)
      yield* until(isOff)
    }).pipe(provided))

  it.live("that is too long is not read", () =>
    Effect.gen(function* () {
      const { isOff, logged, path, until } = yield* followed({ poll: "20 millis", initial: off })
      writeFileSync(path, `{}${" ".repeat(300_000)}`)
      yield* until(() => logged("The text must be at most 65536 characters long, got \"300002 bytes\"") === 1)
      expect(isOff()).toBe(true)
    }).pipe(provided))

  it.live("that is gone for a moment is no news", () =>
    Effect.gen(function* () {
      // What is seen of it is seen by the events, and it would be half an hour until it counts.
      const { isOff, lines, path } = yield* followed({ poll: "1 hour", initial: off })
      for (let time = 0; time < 3; time++) {
        // An editor that writes a new file after it has taken the old one away.
        rmSync(path)
        yield* pause(60)
        writeFileSync(path, off)
        yield* pause(60)
        expect(isOff()).toBe(true)
      }
      expect(lines.length).toBe(1)
    }).pipe(provided))

  it.live("that is removed switches everything on", () =>
    Effect.gen(function* () {
      const { isOff, logged, path, until } = yield* followed({ poll: "20 millis", initial: off })
      rmSync(path)
      yield* until(() => !isOff())
      expect(logged(`Info Retries switched by file ${path}, which is gone: on`)).toBe(1)
      yield* pause(100)
      expect(logged("gone")).toBe(1)
      writeFileSync(path, off)
      yield* until(isOff)
    }).pipe(provided))

  it.live("whose folder is made, removed and made again is found by the poll", () =>
    Effect.gen(function* () {
      const { folder, isOff, path, until } = yield* followed({ poll: "20 millis" })
      rmSync(folder, { recursive: true })
      yield* pause(50)
      mkdirSync(folder)
      writeFileSync(path, off)
      yield* until(isOff)
    }).pipe(provided))

  it.live("that is no file is not opened", () =>
    Effect.gen(function* () {
      const { folder, isOff, logged, path, until } = yield* followed({ poll: "20 millis", initial: off })
      spawnSync("sh", ["-c", "mkfifo \"$1\"", "sh", join(folder, "pipe")])
      renameSync(join(folder, "pipe"), path)
      yield* until(() => logged("cannot be read, and the last state stays: it is no file but a FIFO") === 1)
      expect(isOff()).toBe(true)
      rmSync(path)
      mkdirSync(path)
      yield* pause(100)
      rmSync(path, { recursive: true })
      writeFileSync(path, "{}")
      yield* until(() => !isOff())
      expect(logged("Warn")).toBe(1)
      expect(logged("can be read again")).toBe(1)
    }).pipe(provided))

  it.live("that may not be read keeps the last state, with one warning", () =>
    Effect.gen(function* () {
      // Root reads everything.
      if (process.getuid?.() === 0) return
      const { isOff, logged, path, until } = yield* followed({ poll: "20 millis", initial: off })
      chmodSync(path, 0)
      yield* until(() => logged("Warn") === 1)
      yield* pause(100)
      expect(isOff()).toBe(true)
      expect(logged("cannot be read, and the last state stays: EACCES")).toBe(1)
      chmodSync(path, 0o600)
      writeFileSync(path, "{}")
      yield* until(() => !isOff())
    }).pipe(provided))

  it.live("that cannot be found keeps the last state, with one warning", () =>
    Effect.gen(function* () {
      const { folder, isOff, logged, path, until } = yield* followed({ poll: "20 millis", initial: off })
      symlinkSync(path, join(folder, "loop"))
      renameSync(join(folder, "loop"), path)
      yield* until(() => logged("cannot be read, and the last state stays: ELOOP") === 1)
      yield* pause(100)
      expect(isOff()).toBe(true)
      rmSync(path)
      writeFileSync(path, "{}")
      yield* until(() => !isOff())
      expect(logged("Warn")).toBe(1)
    }).pipe(provided))

  it.effect("that is never answered for is waited for a second, and not asked for again", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      let asked = 0
      const frozen = FileSystem.FileSystem.of({
        ...files,
        stat: () =>
          Effect.suspend(() => {
            asked++
            return Effect.never
          }),
        watch: () => Stream.never
      })
      const layer = RetryControl.layerFile({ path: "/nfs/retries.json" })
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      const built = yield* Layer.build(layer).pipe(
        Effect.provideService(FileSystem.FileSystem, frozen),
        Effect.provide(Logger.layer([logger])),
        Effect.forkScoped
      )
      yield* TestClock.adjust("999 millis")
      expect(built.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect(built.pollUnsafe()).toBeDefined()
      yield* TestClock.adjust("1 minute")
      expect(asked).toBe(1)
      expect(lines).toEqual([
        "The switch of retries in file /nfs/retries.json cannot be read, and the last state stays: " +
        "no answer within 1 second"
      ])
    }).pipe(provided))

  it.effect("is read every second where there are no events", () =>
    Effect.gen(function* () {
      const { isOff, path, until } = yield* followed({})
      writeFileSync(path, off)
      yield* TestClock.adjust("999 millis")
      yield* pause(50)
      expect(isOff()).toBe(false)
      yield* TestClock.adjust("21 millis")
      yield* until(isOff)
    }).pipe(Effect.provide(deaf)))

  it.live("is followed no more when the scope has closed", () =>
    Effect.gen(function* () {
      let reads = 0
      let watched = 0
      const files = yield* FileSystem.FileSystem
      const counting = FileSystem.FileSystem.of({
        ...files,
        stat: (path) =>
          Effect.suspend(() => {
            reads++
            return files.stat(path)
          }),
        watch: (path) =>
          Stream.unwrap(Effect.acquireRelease(
            Effect.sync(() => {
              watched++
              return files.watch(path)
            }),
            () => Effect.sync(() => void watched--)
          ))
      })
      yield* Effect.scoped(
        followed({ poll: "10 millis" }).pipe(
          Effect.andThen(pause(50)),
          Effect.provideService(FileSystem.FileSystem, counting)
        )
      )
      expect(reads).toBeGreaterThan(1)
      expect(watched).toBe(0)
      const before = reads
      yield* pause(50)
      expect(reads).toBe(before)
    }).pipe(provided))
})

describe("RetryControl.layerFile", () => {
  it.each([
    [{ path: "" }, "RetryControl.layerFile.path must be the path of a file, got \"\""],
    [
      { path: "retries.json", poll: 9 },
      "RetryControl.layerFile.poll must be a finite duration of at least 10 ms, got 9"
    ],
    [
      { path: "retries.json", poll: Infinity },
      "RetryControl.layerFile.poll must be a finite duration of at least 10 ms, got Infinity"
    ]
  ])("refuses %j", (options, message) => {
    expect(() => RetryControl.layerFile(options)).toThrow(message)
  })

  it.live("and another layer hold together", () =>
    Effect.gen(function* () {
      const around = RetryControl.layer(RetryControl.make({ operations: { pay: { ratio: 0.1 } } }))
      const { control, isOff, path, until } = yield* followed({ poll: "1 hour", initial: off, around })
      expect(control.setting("pay", undefined)?.off).toBe(true)
      writeFileSync(path, "{}")
      yield* until(() => !isOff())
      expect(control.setting("pay", undefined)).toMatchObject({ off: false, meter: expect.anything() })
      expect(control.setting("search", undefined)).toBeUndefined()
    }).pipe(provided))
})

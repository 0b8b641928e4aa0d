/**
 * Redis as this process sees it: joined, or away. Once a command has failed, or has taken too long, none is sent but a
 * probe a second, until one is answered.
 */
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { RedisError } from "effect/persistence/Redis"
import * as time from "../../time.ts"
import { type Command, make as makeCommands } from "./commands.ts"
import type { Ledger } from "./ledger.ts"
import type { Settings } from "./options.ts"
import { type Parameters, type Reply, status, unit } from "./script.ts"
import type { Heard } from "./share.ts"

/** Milliseconds from one probe to the next, and the longest that one is waited for: nobody waits with it. */
const probe = 1000

/** For so many flushes that did not come, a process still counts as living. */
const missed = 3

export interface Link {
  readonly joined: () => boolean
  readonly heard: () => Heard
  /** Asks for a retry; `lost` where there was no answer that counts. `done` is called once, within the timeout. */
  readonly withdraw: (done: (answer: "granted" | "denied" | "lost", slice: number) => void) => void
  /** Tells Redis what is new, and after a loss everything. */
  readonly flush: Effect.Effect<void>
  /** Flushes for ever. */
  readonly loop: Effect.Effect<never>
  /** The last flush. */
  readonly leave: Effect.Effect<void>
}

export interface Client {
  readonly run: (parameters: Parameters) => Effect.Effect<Reply, RedisError>
  readonly keys: ReadonlyArray<string>
  readonly id: string
  /** What the fibers of commands run with. */
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly lost: (exit: Exit.Failure<Reply, RedisError> | undefined) => void
  readonly found: () => void
}

export const make = (client: Client, ledger: Ledger, settings: Settings): Link => {
  const { clock, context, id, keys } = client
  const { flush, minPerSecond, ratio, timeout, window } = settings
  const commands = makeCommands(ledger)
  const runFork = Effect.runForkWith(context)
  const now = (): number => time.now(clock)
  const head = [...keys, window / 10, Math.round(ratio * unit), minPerSecond * unit / 1000, id]

  let state: "joined" | "away" | "left" = "away"
  /** Whether it was said that Redis is away. */
  let said = false
  let heard: Heard = { at: now(), balance: 0, live: 1, topUp: minPerSecond * unit }
  /** The command that `heard` comes from. */
  let heardFrom = 0
  let bornAt = heard.at
  /** From this process's clock to the server's; `undefined` before it is known. */
  let ahead: number | undefined
  /** The record of the fleet that this process is in; 0 before it is in one. */
  let fleet = 0
  let sentAt = -Infinity
  let flushedAt = -Infinity
  let flushing = false

  const lose = (exit: Exit.Failure<Reply, RedisError> | undefined): void => {
    if (state === "left") return
    state = "away"
    if (said) return
    said = true
    client.lost(exit)
  }
  const hear = (command: Command, at: number, reply: Reply): void => {
    const [, , balance, live, topUp, age] = reply
    bornAt = Math.min(bornAt, at - age)
    if (command.number < heardFrom) return
    heardFrom = command.number
    fleet = reply[7]
    heard = { at, balance, live: live > 0 ? live : heard.live, topUp }
  }

  /** Sends a command. `done` is called once: with the reply, or with nothing when it failed or took too long. */
  const send = (
    options: { readonly wants: boolean; readonly whole: boolean; readonly alive: number; readonly millis: number },
    done: (reply: Reply | undefined, command: Command) => void
  ): void => {
    const at = sentAt = now()
    const command = commands.next(ledger.at(at))
    const report = ledger.report(at, options.whole)
    const parameters = [
      ...head,
      command.number,
      commands.first(),
      Number(options.wants),
      Number(options.whole),
      Math.round(at - bornAt),
      options.alive,
      ahead === undefined ? 0 : Math.ceil(at + ahead + options.millis),
      // After that long Redis has let go of the process's record, and nothing of it counts.
      at - heard.at < 2 * window ? fleet : 0,
      ...ledger.written(at, report)
    ]
    const finish = (exit: Exit.Exit<Reply, RedisError> | undefined): void => {
      if (command.outcome !== "out") return
      if (exit?._tag !== "Success") {
        commands.settle(command, "over")
        lose(exit)
        return done(undefined, command)
      }
      const reply = exit.value
      // Also where it was refused as late: the clocks have moved, as it was answered in time.
      ahead = reply[6] - at
      commands.settle(command, reply[1] === 1 ? "granted" : "over")
      if (reply[0] === status.ok) {
        ledger.told(report)
        hear(command, at, reply)
      }
      done(reply, command)
    }
    let timer: Fiber.Fiber<void> | undefined = undefined
    const waiting = runFork(client.run(parameters))
    waiting.addObserver((exit) => {
      timer?.interruptUnsafe()
      finish(exit)
    })
    if (command.outcome !== "out") return
    // After a pause of the whole process both are due: what came in by then is read first.
    timer = runFork(
      Effect.andThen(clock.sleep(Duration.millis(options.millis)), Effect.andThen(Effect.yieldNow, Effect.yieldNow))
    )
    timer.addObserver((exit) => {
      if (exit._tag === "Failure" || command.outcome !== "out") return
      finish(undefined)
      waiting.interruptUnsafe()
    })
  }

  const sendFlush = (done: () => void): void => {
    if (flushing || state === "left") return done()
    flushing = true
    const whole = state === "away"
    flushedAt = now()
    const alive = Math.max(flush, probe) * missed
    send({ wants: false, whole, alive, millis: probe }, (reply) => {
      flushing = false
      if (reply?.[0] === status.ok && whole && state === "away") {
        state = "joined"
        if (said) client.found()
        said = false
      }
      if (reply?.[0] === status.unknown) rejoin()
      done()
    })
  }
  /** Redis answers, and has forgotten this process. */
  const rejoin = (): void => {
    if (state === "joined") state = "away"
    sendFlush(() => {})
  }
  const due = (): number => state === "left" ? Infinity : state === "away" ? sentAt + probe : flushedAt + flush
  const flushed: Effect.Effect<void> = Effect.callback((resume) => sendFlush(() => resume(Effect.void)))

  return {
    joined: () => state === "joined",
    heard: () => heard,
    withdraw: (done) =>
      send({ wants: true, whole: false, alive: 0, millis: timeout }, (reply, { slice }) => {
        if (reply?.[0] === status.unknown) rejoin()
        if (reply?.[0] !== status.ok) return done("lost", slice)
        done(reply[1] === 1 ? "granted" : "denied", slice)
      }),
    flush: flushed,
    loop: Effect.forever(Effect.suspend(() => {
      const wait = due() - now()
      // Looked at again soon: it may have been lost meanwhile.
      return wait > 0 ? clock.sleep(Duration.millis(Math.min(Math.ceil(wait), probe))) : flushed
    })),
    leave: Effect.callback((resume) => {
      const wasJoined = state === "joined"
      state = "left"
      if (!wasJoined) return resume(Effect.void)
      send({ wants: false, whole: false, alive: -1, millis: timeout }, () => resume(Effect.void))
    })
  }
}

/**
 * One attempt: a program is started, and ends.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { type ChildProcess, spawn } from "node:child_process"
import { fstatSync } from "node:fs"
import type { Readable } from "node:stream"
import * as group from "./group.ts"
import type { Guard } from "./Guard.ts"
import * as hint from "./hint.ts"
import { ProgramFailed } from "./ProgramFailed.ts"
import { inLine } from "../visible.ts"
import { exitCode as exitCodeOf, type Signals } from "./Signals.ts"

export interface Program {
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** Whether an exit code is worth another attempt. */
  readonly retryOn: (exitCode: number) => boolean
  /** How long a program whose time is up may take to end, in milliseconds. */
  readonly killAfter: number
  readonly signals: Signals
  readonly guard: Guard
}

export interface Start {
  readonly env: Readonly<Record<string, string>>
  /** This process's own, nothing, or what was read from it. */
  readonly stdin: "inherit" | "ignore" | Buffer
}

interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

interface Running {
  readonly child: ChildProcess
  readonly pid: number
  readonly ended: Deferred.Deferred<Ended>
  readonly hints: hint.Reader
  /** Descriptor 3, this end of it. */
  readonly channel: Readable
}

/** A program that cannot be started is never worth another attempt. The exit codes are the shells'. */
const notStarted = (command: string, error: unknown): ProgramFailed => {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error)
  return new ProgramFailed({
    exitCode: code === "ENOENT" ? 127 : 126,
    how: code === "ENOENT"
      ? `no program is called ${inLine(command)}`
      : `${inLine(command)} cannot be started (${code})`,
    transient: false,
    retryAfter: undefined
  })
}

/** Whether somebody reads what the program writes. Who is ended for writing to a pipe has lost that reader. */
const outputIsPiped = (): boolean => {
  const output = fstatSync(1)
  return output.isFIFO() || output.isSocket()
}

const failed = ({ code, signal }: Ended, program: Program, reader: hint.Reader): ProgramFailed => {
  const exitCode = signal === null ? code ?? 0 : exitCodeOf(signal)
  return new ProgramFailed({
    exitCode,
    how: signal === null ? `exit code ${exitCode}` : `ended by ${signal}`,
    transient: program.retryOn(exitCode) && !(signal === "SIGPIPE" && outputIsPiped()),
    retryAfter: reader.end()
  })
}

const launch = ({ args, command }: Program, env: Start["env"], stdin: Start["stdin"]): ChildProcess | ProgramFailed => {
  try {
    return spawn(command, args, {
      detached: true,
      env: { ...process.env, ...env },
      stdio: [typeof stdin === "string" ? stdin : "pipe", "inherit", "inherit", "pipe"]
    })
  } catch (error) {
    // Some errors of the system come as events, and some are thrown.
    return notStarted(command, error)
  }
}

/** Starts the program as the leader of a new session, so that it and what it starts can be reached together. */
const start = (program: Program, { env, stdin }: Start): Effect.Effect<Running, ProgramFailed> =>
  Effect.callback((resume) => {
    const child = launch(program, env, stdin)
    if (child instanceof ProgramFailed) return resume(child)
    child.once("error", (error) => resume(Effect.fail(notStarted(program.command, error))))
    const { pid, stdio: [, , , channel] } = child
    if (pid === undefined) return
    program.signals.group = pid
    program.guard.watch(pid)
    const ended = Deferred.makeUnsafe<Ended>()
    child.once("exit", (code, signal) => Deferred.doneUnsafe(ended, Effect.succeed({ code, signal })))
    if (typeof stdin !== "string") {
      // A program need not read what it is given.
      child.stdin?.on("error", () => {})
      child.stdin?.end(stdin)
    }
    const hints = new hint.Reader()
    // Descriptor 3 is a pipe by the options above, and so can be read.
    const readable = channel as Readable
    readable.setEncoding("utf8").on("data", hints.add).on("error", () => {})
    resume(Effect.succeed({ child, pid, ended, hints, channel: readable }))
  })

/** Ends a program that is still running: as a signal that came asks for, or as the end of its time does. */
const stop = ({ ended, pid }: Running, { killAfter, signals }: Program): Effect.Effect<void> =>
  Effect.suspend(() => {
    // It has been passed on, and the sender knows how long to wait: a second one is passed on too.
    if (signals.received !== undefined) return Deferred.await(ended)
    group.signal(pid, "SIGTERM")
    return Deferred.await(ended).pipe(
      Effect.timeoutOrElse({
        duration: killAfter,
        orElse: () => {
          group.signal(pid, "SIGKILL")
          return Deferred.await(ended)
        }
      })
    )
  })

const release = (running: Running, program: Program): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (!(yield* Deferred.isDone(running.ended))) yield* stop(running, program)
    yield* group.clear(running.pid)
    // Who moved to another session may hold the other end for ever.
    running.channel.destroy()
    program.signals.group = undefined
    program.guard.rest()
  })

/** What the program wrote on descriptor 3 right before its end may still be on its way. */
const drained = ({ channel }: Running): Effect.Effect<void> =>
  channel.readableEnded || channel.destroyed
    ? Effect.void
    : Effect.callback<void>((resume) => {
      channel.once("close", () => resume(Effect.void))
    }).pipe(Effect.timeoutOrElse({ duration: "100 millis", orElse: () => Effect.void }))

/** Runs the program once. */
export const attempt = (program: Program, options: Start): Effect.Effect<void, ProgramFailed> =>
  Effect.acquireUseRelease(
    start(program, options),
    (running) =>
      Effect.gen(function* () {
        const ended = yield* Deferred.await(running.ended)
        if (ended.code === 0) return
        yield* drained(running)
        return yield* failed(ended, program, running.hints)
      }),
    (running) => release(running, program)
  )

/**
 * Standard output, written at once and to the end. What Node does later it does in silence when it fails.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { writeSync } from "node:fs"
import { Ending } from "./Ending.ts"

/** An answer that cannot be given: sysexits' EX_IOERR. */
const lost = 74

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error)

const pause = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)

/** Throws an {@link Ending} where the text cannot be written, unless it is that its reader has seen enough. */
const write = (text: string): void => {
  const bytes = Buffer.from(text)
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(1, bytes, written)
    } catch (error) {
      const code = codeOf(error)
      if (code === "EPIPE") return
      if (code !== "EAGAIN") throw new Ending({ exitCode: lost, text: `cannot write to standard output: ${code}` })
      // Somebody has made the pipe non-blocking, and it is full.
      pause()
    }
  }
}

/** The console of the command: also what `effect/cli` prints by itself is written by it. */
export const layer: Layer.Layer<never> = Layer.effect(
  Console.Console,
  Effect.map(Console.Console, (own) =>
    Object.assign(Object.create(own), {
      log: (...texts: ReadonlyArray<unknown>) => write(`${texts.join(" ")}\n`)
    }))
)

/**
 * A form in the bytes that it is sent in: written anew each time, it would have another boundary each time.
 *
 * The platform would write it too, but Node.js reads all of it at once, whatever its length, and where a file of it
 * cannot be read, or the reading is given up, nobody can catch what it rejects with.
 */
import * as Effect from "effect/Effect"
import { keep, readWhile } from "./bytes.ts"
import { beforeDeadline, inTime } from "./time.ts"

/** A form as it is sent. */
export interface Written {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The `content-type`, with the boundary. */
  readonly type: string
}

// Larger ones are not worth the memory, and of slower ones the attempt itself finds out.
const mostBytes = 1_048_576
const longest = 1_000

/** As fetch takes it when it is called: the caller may go on to write into it. */
export const copy = (form: FormData): FormData => {
  const own = new FormData()
  form.forEach((value, name) => own.append(name, value))
  return own
}

/** The `content-type` of a form, and the boundary in it, both as the platform makes them; undefined where it does not. */
const delimited = (): { readonly type: string; readonly boundary: string } | undefined => {
  const type = new Response(new FormData()).headers.get("content-type")
  const boundary = /;\s*boundary=([^\s;"]+)$/i.exec(type ?? "")?.[1]
  return type === null || boundary === undefined ? undefined : { type, boundary }
}

const normalized = (text: string): string => text.replace(/\r\n?|\n/g, "\r\n")

const quoted = (text: string): string => `"${text.replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/"/g, "%22")}"`

const fileHead = ({ name, type }: File): string =>
  `; filename=${quoted(name)}\r\nContent-Type: ${type === "" ? "application/octet-stream" : type}`

/** By the "multipart/form-data encoding algorithm" of the HTML standard; undefined where it does not come to an end. */
const encoded = (form: FormData, boundary: string): Effect.Effect<Uint8Array<ArrayBuffer> | undefined> =>
  Effect.gen(function* () {
    const { take, whole } = keep(mostBytes)
    const encoder = new TextEncoder()
    const write = (text: string): boolean => take(encoder.encode(text))
    const parts: Array<readonly [name: string, value: FormDataEntryValue]> = []
    form.forEach((value, name) => parts.push([name, value]))
    for (const [name, value] of parts) {
      const head = `--${boundary}\r\nContent-Disposition: form-data; name=${quoted(normalized(name))}`
      const goesOn = typeof value === "string"
        ? write(`${head}\r\n\r\n${normalized(value)}\r\n`)
        : value.size <= mostBytes && write(`${head}${fileHead(value)}\r\n\r\n`) &&
          (yield* readWhile(value.stream(), take)) && write("\r\n")
      if (!goesOn) return undefined
    }
    return write(`--${boundary}--\r\n`) ? whole() : undefined
  })

/**
 * The form in bytes; undefined where it is too long, does not come within a second, `attempt` milliseconds or the
 * caller's deadline, or cannot be read. Then it goes as it is, and the transport meets all that.
 */
export const written = (form: FormData, attempt: number): Effect.Effect<Written | undefined> =>
  Effect.suspend(() => {
    const ends = delimited()
    if (ends === undefined) return Effect.undefined
    return Effect.map(
      inTime(encoded(form, ends.boundary), beforeDeadline(Math.min(longest, attempt))),
      (bytes) => bytes && { bytes, type: ends.type }
    )
  })

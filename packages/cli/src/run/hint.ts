/**
 * What a program writes on descriptor 3: lines, of which `retry-after: 3` is understood.
 */
import type * as Transience from "@reprise/core/Transience"
import * as Result from "effect/Result"
import { parseRetryAfter } from "effect/http/Headers"

const line = /^\s*retry-after\s*:(.*)$/i

/** The hint of one line, in seconds or as an HTTP date, as in the header of that name. */
const parse = (text: string): Transience.RetryAfter | undefined => {
  const value = line.exec(text)?.[1]
  const parsed = value === undefined ? undefined : parseRetryAfter(value)
  if (parsed === undefined || Result.isFailure(parsed)) return undefined
  return parsed.success._tag === "Duration" ? parsed.success.duration : parsed.success.dateTime
}

/** As much of a line as is kept: a program may write anything there. */
const longest = 1_024

/** Reads lines as they come in pieces, and keeps the last hint. */
export class Reader {
  hint: Transience.RetryAfter | undefined
  #rest = ""

  readonly add = (chunk: string): void => {
    const lines = (this.#rest + chunk).split(/\r?\n/)
    this.#rest = (lines.pop() ?? "").slice(0, longest)
    for (const text of lines) this.hint = parse(text) ?? this.hint
  }

  /** Also the last line, which may lack its end. */
  readonly end = (): Transience.RetryAfter | undefined => {
    this.add("\n")
    return this.hint
  }
}

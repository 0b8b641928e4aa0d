/**
 * What a request says of its own retries. It is written in a header of the request, because nothing else outlives
 * `setHeader`, `setBody` and the client's own changes; the retrying client takes it off before it sends.
 */
import * as Headers from "effect/http/Headers"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import { isName, type KeyForm } from "../semantics/key.ts"

type Request = HttpClientRequest.HttpClientRequest

const header = "reprise-retry"

export interface Marks {
  /** A second execution changes nothing, whatever the method. */
  readonly idempotent: boolean
  /** A key is to be made for each execution. */
  readonly generate: KeyForm | undefined
  /** The header that holds the key, where it is not the standard one. */
  readonly keyHeader: string | undefined
}

const none: Marks = { idempotent: false, generate: undefined, keyHeader: undefined }

const write = ({ generate, idempotent, keyHeader }: Marks): string =>
  [
    ...(idempotent ? ["idempotent"] : []),
    ...(generate === undefined ? [] : [`generate=${generate.header}=${generate.style}`]),
    ...(keyHeader === undefined ? [] : [`key=${keyHeader}`])
  ].join(" ")

const parse = (text: string): Marks => {
  let marks = none
  for (const word of text.split(" ")) {
    const [kind, name, style] = word.split("=")
    if (kind === "idempotent") marks = { ...marks, idempotent: true }
    // It may come from outside, through a gateway.
    if (name === undefined || !isName(name)) continue
    if (kind === "key") marks = { ...marks, keyHeader: name }
    if (kind === "generate" && (style === "quoted" || style === "bare")) {
      marks = { ...marks, generate: { header: name, style } }
    }
  }
  return marks
}

export const read = (request: Request): Marks => {
  const text = request.headers[header]
  return text === undefined ? none : parse(text)
}

/** The request with more said of it. */
export const add = (request: Request, more: Partial<Marks>): Request =>
  HttpClientRequest.setHeader(request, header, write({ ...read(request), ...more }))

/** The request as it may be sent. */
export const remove = (request: Request): Request =>
  request.headers[header] === undefined
    ? request
    : HttpClientRequest.updateHeaders(request, Headers.remove(header))

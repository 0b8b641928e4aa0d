/** A server with the middleware, asked without a network. */
import { HttpIdempotency, type IdempotencyStore } from "@reprise/idempotency"
import * as Effect from "effect/Effect"
import * as HttpEffect from "effect/http/HttpEffect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type { Scope } from "effect/Scope"
import * as memory from "./memory.ts"

export type Handler = Effect.Effect<HttpServerResponse, unknown, HttpServerRequest | Scope>

interface Ask {
  /** As the header has it; an empty text sends none. */
  readonly key?: string
  readonly method?: string
  readonly path?: string
  readonly body?: RequestInit["body"]
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly replayed: boolean
  /** The code of a problem. */
  readonly code: string | undefined
}

export interface Server {
  readonly ask: (ask?: Ask) => Promise<Answer>
  readonly send: (ask?: Ask) => Promise<Response>
  /** How often the handler ran. */
  readonly runs: () => number
  /** What was logged. */
  readonly logs: ReadonlyArray<string>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

export const scope: Effect.Effect<string> = Effect.succeed("tenant-7")

export const start = (
  handler: Handler | ((run: number) => Handler),
  options: Partial<HttpIdempotency.Options<unknown, HttpServerRequest>> = {},
  store: Layer.Layer<IdempotencyStore.IdempotencyStore> = memory.layer()
): Server => {
  let runs = 0
  const logs: Array<string> = []
  const counted: Handler = Effect.suspend(() => {
    runs++
    return Effect.isEffect(handler) ? handler : handler(runs)
  })
  const app = HttpIdempotency.middleware({ scope, ...options })(counted)
  const logger = Logger.make(({ cause, message }) => void logs.push(`${String(message)} ${String(cause)}`))
  const web = HttpEffect.toWebHandlerLayer(app, Layer.merge(store, Logger.layer([logger])))
  const send = ({ body, headers, key = "\"order-1017\"", method = "POST", path = "/charges", signal }: Ask = {}) =>
    web.handler(
      new Request(`http://pay.example${path}`, {
        method,
        headers: {
          "content-type": "application/json",
          ...headers,
          ...(key !== "" && { "idempotency-key": key })
        },
        ...(method === "GET" ? {} : { body: body ?? "{\"amount\":20}" }),
        ...(signal && { signal }),
        // What the types of Node's requests do not have yet: a body that is a stream.
        ...({ duplex: "half" } as object)
      })
    )
  return {
    send,
    ask: async (ask) => {
      const response = await send(ask)
      const text = await response.text()
      const isProblem = response.headers.get("content-type") === "application/problem+json"
      return {
        status: response.status,
        headers: response.headers,
        text,
        replayed: response.headers.get(HttpIdempotency.replayedHeader) === "true",
        code: isProblem ? (JSON.parse(text) as { readonly code: string }).code : undefined
      }
    },
    runs: () => runs,
    logs,
    [Symbol.asyncDispose]: web.dispose
  }
}

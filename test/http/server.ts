// A server on loopback that misbehaves as it is told: it speaks HTTP/1.1 by hand, so nothing keeps it from lying.
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createHash, type Hash } from "node:crypto"
import * as net from "node:net"

/** A request as it came in, whole. */
interface Received {
  /** Its number on the server; the first is 1. */
  readonly number: number
  /** The number of its connection, and its own on that. */
  readonly connection: number
  readonly onConnection: number
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Bytes of the body, and their SHA-256 in hex. */
  readonly bytes: number
  readonly hash: string
  /** The body, where it is short. */
  readonly body: string
}

/** What the server does about a request. */
export type Answer = (socket: net.Socket, request: Received) => void

export interface Server {
  readonly origin: string
  readonly port: number
  /** The last requests, the oldest first; at most a thousand. */
  readonly requests: Array<Received>
  /** Requests until now. */
  count: number
  /** Connections until now, those that are open, and the most that were at a time. */
  connections: number
  open: number
  mostOpen: number
}

const mostKept = 1_000
const longestBody = 65_536

/** Reads requests off a connection, one after the other. */
const reader = (
  emit: (head: string, bytes: number, hash: string, body: string) => void,
  onHead: (head: string) => void
) => {
  let rest: Buffer = Buffer.alloc(0)
  let head: string | undefined
  let left = 0
  let chunked = false
  let bytes = 0
  let hash: Hash = createHash("sha256")
  let body = ""
  const take = (data: Buffer): void => {
    bytes += data.length
    hash.update(data)
    if (body.length < longestBody) body += data.toString("latin1")
  }
  const end = (): void => {
    const whole = head!
    head = undefined
    emit(whole, bytes, hash.digest("hex"), body)
  }
  const chunk = (): boolean => {
    if (left > 0) {
      const data = rest.subarray(0, left)
      take(data)
      left -= data.length
      rest = rest.subarray(data.length)
      if (left > 0) return false
      left = -2
    }
    if (left === -2) {
      if (rest.length < 2) return false
      rest = rest.subarray(2)
      left = 0
    }
    const line = rest.indexOf("\r\n")
    if (line === -1) return false
    const size = Number.parseInt(rest.subarray(0, line).toString(), 16)
    if (size === 0) {
      if (rest.length < line + 4) return false
      rest = rest.subarray(line + 4)
      chunked = false
      end()
      return true
    }
    rest = rest.subarray(line + 2)
    left = size
    return true
  }
  const step = (): boolean => {
    if (head === undefined) {
      const at = rest.indexOf("\r\n\r\n")
      if (at === -1) return false
      head = rest.subarray(0, at).toString("latin1")
      rest = rest.subarray(at + 4)
      ;[left, bytes, hash, body] = [0, 0, createHash("sha256"), ""]
      chunked = /\r\ntransfer-encoding: *chunked/i.test(head)
      if (!chunked) left = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      onHead(head)
    }
    if (chunked) return chunk()
    const data = rest.subarray(0, left)
    take(data)
    left -= data.length
    rest = rest.subarray(data.length)
    if (left > 0) return false
    end()
    return true
  }
  return (data: Buffer): void => {
    rest = rest.length === 0 ? data : Buffer.concat([rest, data])
    while (step()) if (rest.length === 0) return
  }
}

const parsed = (head: string) => {
  const [first = "", ...lines] = head.split("\r\n")
  const [method = "", path = ""] = first.split(" ")
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(":")
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim()
  }
  return { method, path, headers }
}

/** A server that gives this answer to each request; `onHead`, where given, sees a request before its body. */
export const serve = (
  answer: Answer,
  onHead?: (socket: net.Socket, head: string) => void
): Effect.Effect<Server, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() =>
        new Promise<{ server: net.Server; state: Server; sockets: Set<net.Socket> }>((resolve) => {
          const state = {
            origin: "",
            port: 0,
            requests: [] as Array<Received>,
            count: 0,
            connections: 0,
            open: 0,
            mostOpen: 0
          }
          const sockets = new Set<net.Socket>()
          const server = net.createServer({ noDelay: true }, (socket) => {
            const connection = ++state.connections
            state.mostOpen = Math.max(state.mostOpen, ++state.open)
            sockets.add(socket)
            socket.on("error", () => {})
            socket.on("close", () => {
              state.open--
              sockets.delete(socket)
            })
            let onConnection = 0
            socket.on(
              "data",
              reader((head, bytes, hash, body) => {
                const request = {
                  number: ++state.count,
                  connection,
                  onConnection: ++onConnection,
                  ...parsed(head),
                  bytes,
                  hash,
                  body
                }
                state.requests.push(request)
                if (state.requests.length > mostKept) state.requests.shift()
                answer(socket, request)
              }, (head) => onHead?.(socket, head))
            )
          })
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            const port = typeof address === "object" && address !== null ? address.port : 0
            resolve({ server, state: Object.assign(state, { port, origin: `http://127.0.0.1:${port}` }), sockets })
          })
        })
      ),
      ({ server, sockets }) =>
        Effect.promise(() =>
          new Promise<void>((resolve) => {
            for (const socket of sockets) socket.destroy()
            server.close(() => resolve())
          })
        )
    ),
    ({ state }) => state
  )

/** Another answer for each request; the last one for all that follow. */
export const inTurn = (...answers: ReadonlyArray<Answer>): Answer => {
  let at = 0
  return (socket, request) => answers[Math.min(at++, answers.length - 1)]!(socket, request)
}

const head = (status: number, headers: Readonly<Record<string, string>>): string =>
  `HTTP/1.1 ${status} Whatever\r\n${
    Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`).join("")
  }\r\n`

const bodiless = (status: number, method: string): boolean => method === "HEAD" || status === 204 || status === 304

/** A response as it should be. */
export const respond =
  (status: number, body = "", headers: Readonly<Record<string, string>> = {}): Answer => (socket, { method }) => {
    const length = status === 204 || status === 304 ? {} : { "content-length": String(Buffer.byteLength(body)) }
    socket.write(head(status, { ...length, ...headers }) + (bodiless(status, method) ? "" : body))
  }

/** A response in pieces of the chunked kind. */
export const chunked = (status: number, ...chunks: ReadonlyArray<string>): Answer => (socket) => {
  const pieces = chunks.map((chunk) => `${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)
  socket.write(`${head(status, { "transfer-encoding": "chunked" })}${pieces.join("")}0\r\n\r\n`)
}

/** The connection is reset: RST, not FIN. */
export const reset: Answer = (socket) => {
  socket.resetAndDestroy()
}

/** The connection is closed without a word. */
export const hangUp: Answer = (socket) => {
  socket.end()
}

/** Nothing, ever. */
export const stall: Answer = () => {}

/** The head ends in the middle of a header, and then comes nothing, or the end. */
export const halfHead = (then: "nothing" | "end"): Answer => (socket) => {
  socket.write("HTTP/1.1 200 OK\r\ncontent-le")
  if (then === "end") socket.end()
}

/** A head that comes byte by byte, one every so many milliseconds, until the connection is closed. */
export const slowHead = (millis: number): Answer => (socket) => {
  const timer = setInterval(() => socket.write("x"), millis)
  socket.write("HTTP/1.1 200 OK\r\nx-slow: ")
  socket.on("close", () => clearInterval(timer))
}

/** Less of a body than its length, and the end. */
export const truncate = (status: number, body: string): Answer => (socket) => {
  socket.end(head(status, { "content-length": String(body.length + 100) }) + body)
}

/** A head, a piece of the body, and then nothing. */
export const stallInBody = (status: number, body: string): Answer => (socket) => {
  socket.write(head(status, { "content-length": String(body.length + 100) }) + body)
}

/** The answer so many milliseconds late. */
export const late = (millis: number, answer: Answer): Answer => (socket, request) => {
  const timer = setTimeout(() => answer(socket, request), millis)
  socket.on("close", () => clearTimeout(timer))
}

/** The answer, and then the end of the connection without a warning in its head. */
export const thenClose = (answer: Answer): Answer => (socket, request) => {
  answer(socket, request)
  socket.end()
}

/** The first request of a connection is answered, and at the next the connection is reset: a keep-alive that ran out. */
export const closesKeptAlive = (answer: Answer): Answer => (socket, request) => {
  if (request.onConnection === 1) answer(socket, request)
  else socket.resetAndDestroy()
}

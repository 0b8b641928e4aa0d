/** A shop on a port of its own that misbehaves, the same each time. */
import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { json } from "node:stream/consumers"

export interface Shop {
  readonly url: string
  /** The requests that came in, by the order that they were for. */
  readonly requests: ReadonlyArray<number>
  /** The orders that were booked. */
  readonly booked: ReadonlyArray<number>
  readonly close: () => void
}

type Fault = "lost" | "late" | "busy" | "full" | "closed" | "unknown"

/** What goes wrong with an order. */
const faultOf = (id: number): Fault | undefined => {
  if (id === 7) return "closed"
  if (id === 13) return "unknown"
  return ([undefined, "lost", "busy", "full", undefined, "late"] as const)[id % 6]
}

export const open = async (): Promise<Shop> => {
  const requests: Array<number> = []
  const booked: Array<number> = []
  const keys = new Set<string>()

  const book = (id: number, key: string | undefined) => {
    if (key !== undefined && keys.has(key)) return
    if (key !== undefined) keys.add(key)
    booked.push(id)
  }

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    // Only the programs of this example send to it.
    const { id } = await json(request) as { readonly id: number }
    const key = request.headers["idempotency-key"]?.toString()
    const first = !requests.includes(id)
    requests.push(id)
    const fault = faultOf(id)
    if (fault === "closed") return response.writeHead(503).end()
    if (fault === "unknown") return response.writeHead(422).end()
    if (first && fault === "busy") return response.writeHead(503).end()
    if (first && fault === "full") return response.writeHead(429, { "retry-after": "0" }).end()
    book(id, key)
    // The order is booked, but nobody hears of it.
    if (first && fault === "lost") return request.socket.destroy()
    if (first && fault === "late") return setTimeout(() => response.writeHead(504).end(), 700)
    return response.writeHead(201).end()
  }

  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // It listens on a port.
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}`, requests, booked, close }
}

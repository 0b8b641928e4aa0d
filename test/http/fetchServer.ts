/** A real server on the loopback interface that answers as it is told. */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { onTestFinished } from "vitest"

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A status, headers and a body; or what is done with the connection. */
export type Answer =
  | number
  | "reset"
  | "hang"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | ((response: ServerResponse) => void)

export interface Server {
  readonly url: string
  readonly seen: Array<Seen>
}

/** Answers by the number of the request, from 1 on; it ends with the test. */
export const serve = async (
  answerOf: (number: number, request: Seen) => Answer,
  onConnection: () => void = () => {}
): Promise<Server> => {
  const seen: Array<Seen> = []
  const server = createServer(async (request, response) => {
    // A request that is reset may break off here.
    const body = await buffer(request).catch(() => Buffer.alloc(0))
    const arrived = { method: request.method ?? "", url: request.url ?? "", headers: request.headers, body }
    seen.push(arrived)
    const answer = answerOf(seen.length, arrived)
    if (answer === "hang") return
    if (answer === "reset") return void request.socket.destroy()
    if (typeof answer === "function") return answer(response)
    const { body: text = "", headers = {}, status } = typeof answer === "number" ? { status: answer } : answer
    response.writeHead(status, headers).end(text)
  })
  server.on("connection", onConnection)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // It listens on a port, not on a pipe.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

/** Where nobody listens. */
export const closed = async (): Promise<string> => {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo // As above.
  server.close()
  await once(server, "close")
  return `http://127.0.0.1:${port}`
}

/** Answers in their order, the last one for ever. */
export const inOrder = (...answers: ReadonlyArray<Answer>) => (number: number): Answer =>
  answers[Math.min(number, answers.length) - 1]!

export const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error("It was fulfilled")
}

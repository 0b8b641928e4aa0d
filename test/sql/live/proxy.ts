/** A proxy before PostgreSQL that cuts a connection at a moment of the test's choice. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface Proxy {
  readonly url: string
  /** Cuts every connection as soon as the server has answered the next COMMIT, and before the client hears of it. */
  readonly cutAtCommit: () => void
  readonly close: () => Promise<void>
}

export const startProxy = async (target: string): Promise<Proxy> => {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let armed = false
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let committing = false
    const end = () => {
      client.destroy()
      upstream.destroy()
    }
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on("error", end).on("close", () => {
        sockets.delete(socket)
        end()
      })
    }
    client.on("data", (chunk) => {
      committing ||= armed && chunk.includes("COMMIT")
      upstream.write(chunk)
    })
    upstream.on("data", (chunk) => {
      if (!committing) return void client.write(chunk)
      // The tag of a finished COMMIT. Before it come the answers to Parse and Bind.
      if (!chunk.includes("COMMIT")) return
      armed = false
      end()
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("There is no port")
  const url = new URL(target)
  url.port = String(address.port)
  return {
    url: url.href,
    cutAtCommit: () => {
      armed = true
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, "close")
    }
  }
}

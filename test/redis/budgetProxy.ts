/** Stands between a client and a server, and can keep what the server says. */
import { once } from "node:events"
import { connect, createServer, type Socket } from "node:net"

export interface Proxy {
  readonly url: string
  /** From now on nothing of what the server says comes through, and it is lost. */
  readonly deafen: () => void
  /** Cuts all connections. Those that come later get through. */
  readonly cut: () => void
  readonly stop: () => Promise<void>
}

export const startProxy = async (url: string): Promise<Proxy> => {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const deaf = new WeakSet<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const both = [client, upstream]
    for (const socket of both) {
      sockets.add(socket)
      socket.on("error", () => {})
      socket.on("close", () => {
        sockets.delete(socket)
        for (const other of both) other.destroy()
      })
    }
    client.on("data", (data) => upstream.write(data))
    upstream.on("data", (data) => {
      if (!deaf.has(upstream)) client.write(data)
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("There is no port")
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `redis://127.0.0.1:${address.port}`,
    deafen: () => {
      for (const socket of sockets) deaf.add(socket)
    },
    cut,
    stop: async () => {
      cut()
      server.close()
      await once(server, "close")
    }
  }
}

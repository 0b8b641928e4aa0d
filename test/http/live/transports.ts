// The clients that Effect has in Node.js, each as a program would have it.
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type * as HttpClient from "effect/http/HttpClient"
import type * as Layer from "effect/Layer"

export const transports: ReadonlyArray<readonly [name: string, layer: Layer.Layer<HttpClient.HttpClient>]> = [
  ["node", NodeHttpClient.layerNodeHttpOptions({ keepAlive: true })],
  ["undici", NodeHttpClient.layerUndici],
  ["fetch", NodeHttpClient.layerFetch]
]

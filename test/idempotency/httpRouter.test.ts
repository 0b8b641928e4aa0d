import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import type { IdempotencyStore } from "@reprise/idempotency"
import { HttpIdempotency } from "@reprise/idempotency"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse, Multipart } from "effect/http"
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "effect/http-api"
import { describe, expect, it } from "vitest"
import * as memory from "./memory.ts"

class Tenant extends Context.Service<Tenant, string>()("test/Tenant") {}

/** Who has a token is its tenant. */
const authentication = HttpRouter.middleware<{ provides: Tenant }>()((app) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const token = headers["authorization"]
    return token === undefined
      ? Effect.succeed(HttpServerResponse.empty({ status: 401 }))
      : Effect.provideService(app, Tenant, token)
  })
)

const idempotency = HttpIdempotency.router({ scope: Tenant })

let runs = 0
const charge = Effect.gen(function* () {
  const { json } = yield* HttpServerRequest.HttpServerRequest
  return HttpServerResponse.jsonUnsafe({ run: ++runs, tenant: yield* Tenant, order: yield* json })
})

interface Told {
  readonly token?: string
  readonly key?: string
  readonly body?: RequestInit["body"]
}

const ask =
  (handler: (request: Request) => Promise<Response>) =>
  async (path: string, { body = "{}", key = "k", token }: Told = {}) => {
    const headers = { "idempotency-key": `"${key}"`, ...(token !== undefined && { authorization: token }) }
    const response = await handler(new Request(`http://pay.example${path}`, { method: "POST", headers, body }))
    return {
      status: response.status,
      text: await response.text(),
      replayed: response.headers.has("idempotent-replayed")
    }
  }

type Routes = Layer.Layer<
  never,
  never,
  HttpRouter.HttpRouter | IdempotencyStore.IdempotencyStore | HttpRouter.Request<"GlobalError" | "Error", unknown>
>

const served = (routes: Routes) => {
  const web = HttpRouter.toWebHandler(Layer.provide(routes, memory.layer()), { disableLogger: true })
  return { ask: ask(web.handler), [Symbol.asyncDispose]: web.dispose }
}

describe("in a router", () => {
  const routes = HttpRouter.add("POST", "/charges", charge).pipe(
    Layer.provide(idempotency.combine(authentication).layer)
  )

  it("stands after the authentication: who has none gets no replay", async () => {
    await using server = served(routes)
    const first = await server.ask("/charges", { token: "acme" })
    expect(first.status).toBe(200)
    expect((await server.ask("/charges", { token: "acme" })).replayed).toBe(true)
    expect(await server.ask("/charges")).toEqual({ status: 401, text: "", replayed: false })
  })

  it("gives nobody what another tenant's key came to", async () => {
    await using server = served(routes)
    const first = await server.ask("/charges", { token: "acme" })
    const other = await server.ask("/charges", { token: "globex" })
    expect(other.replayed).toBe(false)
    expect(JSON.parse(other.text)).toMatchObject({ tenant: "globex" })
    expect(other.text).not.toBe(first.text)
    // A scope and a key that begin alike are not mistaken for each other.
    expect((await server.ask("/charges", { token: "acm", key: "ek" })).replayed).toBe(false)
    expect((await server.ask("/charges", { token: "acmek", key: "k" })).replayed).toBe(false)
  })

  it("does not compile before what gives the scope", () => {
    const alone = HttpRouter.add("POST", "/charges", HttpServerResponse.empty()).pipe(
      // @ts-expect-error Nobody has said who the tenant is.
      Layer.provide(idempotency.layer)
    )
    expect(alone).toBeDefined()
  })

  it("tells paths apart that are one route, and those of a router below another", async () => {
    const text = Effect.map(HttpServerRequest.HttpServerRequest, ({ url }) => HttpServerResponse.text(url))
    const plain = HttpIdempotency.router({ scope: Effect.succeed("all") })
    const below = Layer.effectDiscard(
      Effect.gen(function* () {
        const router = yield* HttpRouter.HttpRouter
        yield* router.prefixed("/v1").add("POST", "/orders/:id", text)
        yield* router.prefixed("/v2").add("POST", "/orders/:id", text)
      })
    )
    await using server = served(Layer.provide(below, plain.layer))
    expect((await server.ask("/v1/orders/1")).status).toBe(200)
    expect((await server.ask("/v1/orders/1")).replayed).toBe(true)
    expect((await server.ask("/v1/orders/2")).status).toBe(422)
    expect((await server.ask("/v2/orders/1")).status).toBe(422)
  })

  it("for all routes", async () => {
    const made = HttpIdempotency.make({ scope: Effect.succeed("all") })
    const all = HttpRouter.middleware(Effect.map(made, (apply) => (app) => apply(app)), { global: true })
    const text = Effect.succeed(HttpServerResponse.text("a"))
    await using server = served(Layer.merge(HttpRouter.add("POST", "/a", text), all))
    expect((await server.ask("/a")).replayed).toBe(false)
    expect((await server.ask("/a")).replayed).toBe(true)
    expect((await server.ask("/nowhere", { key: "other" })).status).toBe(404)
  })
})

describe("the body, which has been read before", () => {
  const reading = async (
    read:
      | Effect.Effect<unknown, unknown, never>
      | ((request: HttpServerRequest.HttpServerRequest) => Effect.Effect<unknown, unknown, never>),
    body: RequestInit["body"]
  ) => {
    const handler = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const effect = Effect.isEffect(read) ? read : read(request)
      return Effect.map(Effect.orDie(effect), (value) => HttpServerResponse.jsonUnsafe(value))
    })
    const plain = HttpIdempotency.router({ scope: Effect.succeed("all") })
    await using server = served(Layer.provide(HttpRouter.add("POST", "/", handler), plain.layer))
    return JSON.parse((await server.ask("/", { body })).text) as unknown
  }

  it("is read as a text, as JSON and as parameters", async () => {
    expect(await reading(({ text }) => text, "äöü")).toBe("äöü")
    expect(await reading(({ json }) => json, "{\"a\":[1]}")).toEqual({ a: [1] })
    expect(await reading(({ urlParamsBody }) => urlParamsBody, new URLSearchParams({ a: "1&2" })))
      .toEqual({ _id: "UrlParams", params: { a: "1&2" } })
    expect(await reading(({ arrayBuffer }) => Effect.map(arrayBuffer, ({ byteLength }) => byteLength), "12345")).toBe(5)
  })

  it("is read twice, and after the request was changed", async () => {
    const twice = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.all([
        request.text,
        request.text,
        request.modify({ url: "/other" }).text,
        Effect.succeed(request.modify({ url: "/other" }).url)
      ])
    expect(await reading(twice, "once")).toEqual(["once", "once", "once", "/other"])
  })

  it("is read as a stream", async () => {
    const { Stream } = await import("effect")
    expect(await reading(({ stream }) => Stream.mkString(Stream.decodeText(stream)), "flow")).toBe("flow")
  })

  it("is read as a form with files", async () => {
    const { Stream } = await import("effect")
    const form = new FormData()
    form.append("amount", "20")
    form.append("receipt", new Blob(["paid"]), "receipt.txt")
    const parts = (request: HttpServerRequest.HttpServerRequest) =>
      Stream.runCollect(Stream.mapEffect(request.multipartStream, (part) =>
        Multipart.isFile(part)
          ? Effect.map(Stream.mkString(Stream.decodeText(part.content)), (text) => [part.name, text])
          : Effect.succeed([part.key, Multipart.isField(part) ? part.value : ""])))
    expect(await reading(parts, form)).toEqual([["amount", "20"], ["receipt.txt", "paid"]])
  })
})

describe("in an HttpApi", () => {
  class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.String }, { httpApiStatus: 402 }) {}

  class Keyed extends HttpApiMiddleware.Service<Keyed>()("test/Keyed", { error: Declined }) {}

  class Api extends HttpApi.make("Api").add(
    HttpApiGroup.make("charges").add(
      HttpApiEndpoint.post("charge", "/charges", {
        payload: Schema.Struct({ amount: Schema.Int }),
        success: Schema.Struct({ run: Schema.Int }),
        error: Declined
      }).middleware(Keyed)
    )
  ) {}

  it("replays what the endpoint came to, success and failure", async () => {
    let run = 0
    const charges = HttpApiBuilder.group(
      Api,
      "charges",
      (handlers) =>
        handlers.handle("charge", ({ payload }) =>
          Effect.suspend(() => {
            run++
            return payload.amount > 100 ? Effect.fail(new Declined({ code: "limit" })) : Effect.succeed({ run })
          }))
    )
    const keyed = Layer.effect(Keyed, HttpIdempotency.make({ scope: Effect.succeed("all"), failure: Declined }))
    const routes = HttpApiBuilder.layer(Api).pipe(
      Layer.provide(charges),
      Layer.provide(keyed),
      Layer.provide(memory.layer()),
      Layer.provide(NodeHttpServer.layerHttpServices)
    )
    const web = HttpRouter.toWebHandler(routes, { disableLogger: true })
    const asked = ask((request) => {
      request.headers.set("content-type", "application/json")
      return web.handler(request)
    })
    for (const replayed of [false, true]) {
      expect(await asked("/charges", { key: "a", body: "{\"amount\":20}" })).toEqual({
        status: 200,
        text: "{\"run\":1}",
        replayed
      })
    }
    const declined = await asked("/charges", { key: "b", body: "{\"amount\":200}" })
    expect(declined.status).toBe(402)
    expect(await asked("/charges", { key: "b", body: "{\"amount\":200}" })).toEqual({ ...declined, replayed: true })
    expect(run).toBe(2)
    await web.dispose()
  })
})

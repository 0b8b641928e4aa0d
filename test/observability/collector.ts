/** An OpenTelemetry collector for OTLP over HTTP, in JSON, that keeps what it is sent. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

export interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string; readonly doubleValue?: number }
}

interface DataPoint {
  readonly attributes: ReadonlyArray<Attribute>
  readonly asDouble?: number
  readonly count?: number
  readonly sum?: number
}

interface OtlpMetric {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly isMonotonic: boolean; readonly dataPoints: ReadonlyArray<DataPoint> }
  readonly gauge?: { readonly dataPoints: ReadonlyArray<DataPoint> }
  readonly histogram?: { readonly dataPoints: ReadonlyArray<DataPoint> }
}

interface OtlpSpan {
  readonly name: string
  readonly attributes: ReadonlyArray<Attribute>
  readonly events: ReadonlyArray<{ readonly name: string; readonly attributes: ReadonlyArray<Attribute> }>
}

interface Bodies {
  readonly resourceMetrics?: ReadonlyArray<
    { readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<OtlpMetric> }> }
  >
  readonly resourceSpans?: ReadonlyArray<
    { readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<OtlpSpan> }> }
  >
}

export interface Collector {
  readonly url: string
  /** The metrics of the last export. */
  readonly metrics: () => ReadonlyArray<OtlpMetric>
  readonly spans: () => ReadonlyArray<OtlpSpan>
  /** All that came, as it came. */
  readonly text: () => string
}

export const start: Effect.Effect<Collector, never, Scope.Scope> = Effect.gen(function* () {
  const bodies: Array<string> = []
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const chunk of request) body += String(chunk)
    bodies.push(body)
    response.writeHead(200, { "content-type": "application/json" }).end("{}")
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => once(server.listen(0, "127.0.0.1"), "listening")),
    () =>
      Effect.promise(async () => {
        server.closeAllConnections()
        server.close()
        await once(server, "close")
      })
  )
  const read = () => bodies.map((body) => JSON.parse(body) as Bodies) // What the exporter's own types say.
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // It listens on a port.
    metrics: () =>
      read().flatMap((_) => _.resourceMetrics === undefined ? [] : [_.resourceMetrics]).at(-1)?.flatMap((_) =>
        _.scopeMetrics.flatMap((scope) => scope.metrics)
      ) ?? [],
    spans: () => read().flatMap((_) => _.resourceSpans ?? []).flatMap((_) => _.scopeSpans).flatMap((_) => _.spans),
    text: () => bodies.join("\n")
  }
})

/** The attributes, as a record. */
export const record = (attributes: ReadonlyArray<Attribute>): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.doubleValue ?? Number(value.intValue)])
  )

/** Rule R8: what is done about a run that stands inside another. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { NestedRetry } from "../NestedRetry.ts"
import { type Frame, total } from "./ambient.ts"
import { format } from "./notation/format.ts"
import type { AnyEffect, Settings } from "./run/settings.ts"

/** What to do about a run inside another that can retry as well; see `RetryLayers.Mode`. */
export type Mode = "allow" | "collapse" | "fail"

export const Mode: Context.Reference<Mode> = /* @__PURE__ */ Context.Reference("@reprise/core/RetryLayers/Mode", {
  defaultValue: (): Mode => "allow"
})

/** A run without a name is known by its policy. */
export const nameOf = ({ name, policy }: Settings): string => name ?? format(policy.spec)

/** The pairs that were warned of. Bounded: names may be made up as the program goes. */
const pairs = /* @__PURE__ */ new Set<string>()
const mostPairs = 1000

const isNew = (pair: string): boolean => {
  if (pairs.has(pair) || pairs.size >= mostPairs) return false
  pairs.add(pair)
  return true
}

const retrying = (frame: Frame | undefined): Frame | undefined => {
  let at = frame
  while (at !== undefined && at.attempts === 1) at = at.outer
  return at
}

const isInside = (frame: Frame | undefined): boolean => {
  for (let at = retrying(frame); at !== undefined; at = retrying(at.outer)) if (at.ours) return true
  return false
}

export const nested = (
  fiber: Fiber.Fiber<unknown, unknown>,
  settings: Settings,
  frame: Frame,
  begin: (collapsed: boolean) => AnyEffect
): AnyEffect => {
  const outer = retrying(frame)
  if (outer === undefined) return begin(false)
  const mode = fiber.getRef(Mode)
  const inner = nameOf(settings)
  const executions = total(frame) * settings.most
  if (mode === "fail") return Effect.die(new NestedRetry({ outer: outer.name(), inner, executions }))
  // A declared layer is not here to be handed anything.
  if (mode === "collapse" && isInside(frame)) return begin(true)
  const around = outer.name()
  if (!isNew(`${around}\n${inner}`)) return begin(false)
  return Effect.flatMap(Effect.logWarning(warning(around, inner, executions)), () => begin(false))
}

const warning = (outer: string, inner: string, executions: number): string => {
  const most = executions === Infinity ? "any number of" : `up to ${executions}`
  return `Retries inside retries: "${inner}" retries inside "${outer}", which retries too, so one call may be executed ${most} times. Keep one of the two, or see RetryLayers.Mode.`
}

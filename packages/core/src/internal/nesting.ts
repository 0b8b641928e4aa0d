/** Rule R8: what is done about a run that stands inside another. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { type Fields, NestedRetry } from "../NestedRetry.ts"
import { howMany } from "./howMany.ts"
import type { Frame } from "./ambient.ts"
import { format } from "./notation/format.ts"
import { oneLine } from "./oneLine.ts"
import type { Settings } from "./run/settings.ts"

/** What to do about a run inside another that can retry as well; see `RetryLayers.Mode`. */
export type Mode = "allow" | "collapse" | "fail"

export const Mode: Context.Reference<Mode> = /* @__PURE__ */ Context.Reference("@reprise/core/RetryLayers/Mode", {
  defaultValue: (): Mode => "allow"
})

/** A run without a name is known by its policy. */
export const nameOf = (settings: Settings): string =>
  settings.label ??= oneLine(settings.name ?? format(settings.policy.spec))

/** Whether a run hands its failures to the run around it. One with a key of its own keeps it, and retries itself. */
export const collapses = (
  { keyed, most }: Settings,
  outside: Context.Context<never>,
  frame: Frame | undefined
): boolean => most > 1 && !keyed && frame?.handing === true && Context.get(outside, Mode) === "collapse"

/** The pairs that were warned of. Bounded: names may be made up as the program goes. */
const pairs = /* @__PURE__ */ new Set<string>()
const mostPairs = 200

const isNew = (pair: string): boolean => {
  if (pairs.has(pair) || pairs.size >= mostPairs) return false
  pairs.add(pair)
  return true
}

/** The nearest layer that can retry. */
const retrying = (frame: Frame): Frame | undefined => {
  let at: Frame | undefined = frame
  while (at !== undefined && at.attempts === 1) at = at.outer
  return at
}

/** What comes before a run that can retry, inside of a layer: a warning, or its end. Mostly nothing. */
export const objection = (
  settings: Settings,
  frame: Frame,
  outside: Context.Context<never>
): Effect.Effect<void> | undefined => {
  const mode = Context.get(outside, Mode)
  // The same frame has been objected to.
  if (mode === "allow" && settings.warned === frame) return undefined
  const outer = retrying(frame)
  if (outer === undefined) return undefined
  const executions = frame.total * settings.most
  const names = { outer: outer.name(), inner: nameOf(settings), executions }
  if (mode === "fail") return frame.handing ? Effect.die(new NestedRetry(names)) : undefined
  settings.warned = frame
  return isNew(`${names.outer}\n${names.inner}`) ? Effect.logWarning(warning(names)) : undefined
}

const warning = ({ executions, inner, outer }: Fields): string => {
  return `Retries inside retries: "${inner}" retries inside "${outer}", which retries too, so one call may be executed ${
    howMany(executions)
  } times. Keep one of the two, or see RetryLayers.Mode.`
}

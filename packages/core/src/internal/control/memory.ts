import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { RetryControl } from "../../RetryControl.ts"
import type { Control, Setting } from "../control.ts"
import { describe } from "./describe.ts"
import { make as makeSettings, strictest } from "./settings.ts"
import { fromUnknown, type State } from "./state.ts"

/** A switch that a source of states sets as well, and says where from. */
export interface Memory extends RetryControl {
  readonly apply: (state: State, source: string) => Effect.Effect<void>
}

export const make = (initial: State): Memory => {
  let state = Result.getOrThrow(fromUnknown(initial))
  let settings = makeSettings(state, undefined)
  const apply = (next: State, source: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (JSON.stringify(next) === JSON.stringify(state)) return Effect.void
      settings = makeSettings(next, settings)
      state = next
      const { at, by, why } = next
      return Effect.annotateLogs(Effect.logInfo(describe(next, source)), {
        source,
        ...(by === undefined ? {} : { by }),
        ...(at === undefined ? {} : { at }),
        ...(why === undefined ? {} : { why })
      })
    })
  return {
    setting: (operation, origin) => settings.setting(operation, origin),
    state: Effect.sync(() => state),
    // Read once more, so that a state that is changed later changes nothing here.
    set: (next) =>
      Effect.flatMap(
        Effect.suspend(() => Effect.fromResult(fromUnknown(next))),
        (valid) => apply(valid, "the program")
      ),
    apply
  }
}

/** Several switches as one, also those that are added to the list later. */
export const all = (members: ReadonlyArray<Control>, outer?: Control): Control => {
  // Kept as long as both settings are, so that a run that asks again allocates nothing and meets the same meter.
  const joined = new WeakMap<Setting, WeakMap<Setting, Setting>>()
  const join = (one: Setting, other: Setting): Setting => {
    let others = joined.get(one)
    if (others === undefined) joined.set(one, others = new WeakMap())
    let setting = others.get(other)
    if (setting === undefined) others.set(other, setting = strictest(one, other))
    return setting
  }
  return {
    setting: (operation, origin) => {
      let result = outer?.setting(operation, origin)
      if (result?.off === true) return result
      for (const member of members) {
        const setting = member.setting(operation, origin)
        if (setting === undefined) continue
        if (setting.off) return setting
        result = result === undefined ? setting : join(result, setting)
      }
      return result
    }
  }
}

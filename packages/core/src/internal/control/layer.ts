/** Layers of switches, which hold together whether they stand around each other or side by side. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { type Control, CurrentControl } from "../control.ts"
import { all } from "./memory.ts"

/** The switches that were put side by side, together with the one around them. */
interface Joined {
  readonly members: Array<Control>
  readonly control: Control
}

/**
 * Those of one building, by the switch that was there before them. One reference has one value, and of two layers side
 * by side (`Layer.mergeAll`) only the last would stay, silently. So both give out the same one.
 */
const building: WeakMap<Layer.MemoMap, Map<Control | undefined, Joined>> = /* @__PURE__ */ new WeakMap()

const join = (memoMap: Layer.MemoMap, outer: Control | undefined, own: Control, scope: Scope.Scope) => {
  let byOuter = building.get(memoMap)
  if (byOuter === undefined) building.set(memoMap, byOuter = new Map())
  let joined = byOuter.get(outer)
  if (joined === undefined) {
    const members: Array<Control> = []
    byOuter.set(outer, joined = { members, control: all(members, outer) })
  }
  const { control, members } = joined
  members.push(own)
  return Effect.as(
    Scope.addFinalizer(
      scope,
      Effect.sync(() => {
        // The last one stays with those who have it: a run that outlives its layer is not switched on again.
        if (members.length === 1) byOuter.delete(outer)
        else members.splice(members.indexOf(own), 1)
      })
    ),
    control
  )
}

/** Provides a switch, together with those around it and beside it. */
export const layer = <E, R>(control: Effect.Effect<Control, E, R>): Layer.Layer<never, E, Exclude<R, Scope.Scope>> =>
  Layer.fromBuildMemo((memoMap, scope) =>
    Scope.provide(
      Effect.gen(function* () {
        const outer = yield* CurrentControl
        return Context.make(CurrentControl, yield* join(memoMap, outer, yield* control, scope))
      }),
      scope
    )
  )

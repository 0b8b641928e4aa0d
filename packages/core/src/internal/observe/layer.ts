import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { type Observer, Observers } from "./observer.ts"

type List = Array<Observer>

/**
 * The list that layers built together share, by the list that was there before them. One reference has one value, and
 * of two layers side by side (`Layer.mergeAll`) only the last would stay. So those that add to the same list, in one
 * building, give out the same one.
 */
const lists: WeakMap<Layer.MemoMap, WeakMap<ReadonlyArray<Observer>, List>> = /* @__PURE__ */ new WeakMap()

const shared = (memoMap: Layer.MemoMap, present: ReadonlyArray<Observer>): List => {
  let byPresent = lists.get(memoMap)
  if (byPresent === undefined) lists.set(memoMap, byPresent = new WeakMap())
  let list = byPresent.get(present)
  if (list === undefined) byPresent.set(present, list = [...present])
  return list
}

const remove = (list: List, observers: ReadonlyArray<Observer>): void => {
  for (const observer of observers) {
    const index = list.lastIndexOf(observer)
    if (index >= 0) list.splice(index, 1)
  }
}

/** Sets the observers, beside the present ones or in their place. */
export const layer = <E, R>(
  observers: ReadonlyArray<Observer | Effect.Effect<Observer, E, R>>,
  mergeWithExisting: boolean
): Layer.Layer<never, E, Exclude<R, Scope.Scope>> =>
  Layer.fromBuildMemo((memoMap, scope) =>
    Scope.provide(
      Effect.gen(function* () {
        const present = yield* Observers
        const own = yield* Effect.forEach(observers, (_) => Effect.isEffect(_) ? _ : Effect.succeed(_))
        const list = mergeWithExisting ? shared(memoMap, present) : []
        list.push(...own)
        // Others of the building may live on, such as those of the next test.
        yield* Scope.addFinalizer(scope, Effect.sync(() => remove(list, own)))
        return Context.make(Observers, list)
      }),
      scope
    )
  )

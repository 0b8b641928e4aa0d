import * as Effect from "effect/Effect"

/** What a function of the options returns; a defect that names the function where that is no effect. */
export const called = <A>(
  option: string,
  name: string | undefined,
  f: () => Effect.Effect<A, never, unknown>
): Effect.Effect<A, never, unknown> => {
  const returned = f()
  return Effect.isEffect(returned) ? returned : Effect.die(
    new TypeError(`The option "${option}" of ${name ?? "a run"} must return an Effect, got ${typeof returned}`)
  )
}

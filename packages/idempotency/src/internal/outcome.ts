/** Outcomes as texts, by the schemas of the operation. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** A schema of outcomes: whatever its encoded form. */
export type Any = Schema.ConstraintCodec<unknown, unknown, unknown, unknown>

export interface Codec {
  /** Whether a failure is an outcome to keep. */
  readonly isFailure: (error: unknown) => boolean
  /** Dies where the outcome does not fit its schema. */
  readonly encode: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<string, never, unknown>
  readonly decode: (text: string) => Effect.Effect<Exit.Exit<unknown, unknown>, unknown, unknown>
}

interface Part {
  readonly is: (value: unknown) => boolean
  readonly encode: (value: unknown) => Effect.Effect<unknown, Schema.SchemaError, unknown>
  readonly decode: (json: unknown) => Effect.Effect<unknown, Schema.SchemaError, unknown>
}

// Deriving a codec takes longer than using it.
const parts = new WeakMap<Any, Part>()

const partOf = (schema: Any): Part => {
  let part = parts.get(schema)
  if (part === undefined) {
    const json = Schema.toCodecJson(schema)
    part = {
      is: Schema.is(schema),
      encode: Schema.encodeUnknownEffect(json),
      decode: Schema.decodeUnknownEffect(json)
    }
    parts.set(schema, part)
  }
  return part
}

class DoesNotFit extends Error {
  override readonly name = "DoesNotFit"
}

// The messages of schemas and of JSON repeat what they were given.
const misfit = (what: string) => new DoesNotFit(`The ${what} of an idempotent operation does not fit its schema`)

const fits = (encoded: Effect.Effect<unknown, unknown, unknown>, tag: string) =>
  Effect.matchEffect(encoded, {
    onSuccess: (json) => Effect.succeed(JSON.stringify({ [tag]: json })),
    onFailure: () => Effect.die(misfit(tag))
  })

const parse = (text: string): object | undefined => {
  try {
    const json: unknown = JSON.parse(text)
    return typeof json === "object" && json !== null ? json : undefined
  } catch {
    return undefined
  }
}

export const codec = (success: Any, failure: Any = Schema.Never): Codec => {
  const successes = partOf(success)
  const failures = partOf(failure)
  return {
    isFailure: failures.is,
    encode: (exit) =>
      Exit.isSuccess(exit)
        ? fits(successes.encode(exit.value), "success")
        : fits(failures.encode(Option.getOrUndefined(Exit.findErrorOption(exit))), "failure"),
    decode: (text) => {
      // What is read was written by `encode`, unless the store or the schema was changed.
      const json = parse(text)
      if (json === undefined) return Effect.fail(misfit("record"))
      const exit: Effect.Effect<Exit.Exit<unknown, unknown>, unknown, unknown> = "failure" in json
        ? Effect.map(failures.decode(json.failure), Exit.fail)
        : Effect.map(successes.decode("success" in json ? json.success : undefined), Exit.succeed)
      return Effect.mapError(exit, () => misfit("record"))
    }
  }
}

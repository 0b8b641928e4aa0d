import * as Cause from "effect/Cause"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"
import type { Encoded, Fields, RetryExhausted } from "../RetryExhausted.ts"

const count = (least: number) => Schema.Int.check(Schema.isGreaterThanOrEqualTo(least))

const time = Schema.DurationFromMillis

const reason = () =>
  Schema.Union([
    Schema.Struct({
      _tag: Schema.Literals([
        "Attempts",
        "End",
        "Elapsed",
        "Deadline",
        "Budget",
        "SwitchedOff",
        "Unsafe",
        "Pushback",
        "Layer",
        "Collapsed"
      ])
    }),
    Schema.Struct({
      _tag: Schema.Literal("RetryAfterTooLong"),
      hint: time,
      max: time
    })
  ])

const wire = <E, Wire, RD, RE>(error: Schema.Codec<E, Wire, RD, RE>) =>
  Schema.Struct({
    _tag: Schema.Literal("RetryExhausted"),
    operation: Schema.optional(Schema.String),
    reason: reason(),
    attempts: count(1),
    elapsed: time,
    waits: Schema.Struct({ count: count(0), total: time }),
    history: Schema.Array(Schema.Struct({
      attempt: count(1),
      error,
      elapsed: time,
      delay: Schema.optional(time)
    })),
    lastError: error,
    policy: Schema.String,
    retryAt: Schema.optional(Schema.DateTimeUtcFromString)
  })

/** The class and its guard come as arguments, so that this file does not import the one that exports it. */
export const schema = <E, Wire, RD, RE>(
  error: Schema.Codec<E, Wire, RD, RE>,
  make: (fields: Fields<E>) => RetryExhausted<E>,
  is: (u: unknown) => u is RetryExhausted
): Schema.Codec<RetryExhausted<E>, Encoded<Wire>, RD, RE> =>
  wire(error).pipe(Schema.decodeTo(
    // The guard cannot look inside; the struct before it has decoded the errors by their own schema.
    Schema.declare((u): u is RetryExhausted<E> => is(u), { identifier: "RetryExhausted" }),
    SchemaTransformation.transform({
      decode: ({ history, operation, retryAt, ...rest }) =>
        make({
          ...rest,
          operation,
          retryAt,
          history: history.map(({ delay, ...failed }) => ({ ...failed, delay })),
          lastCause: Cause.fail(rest.lastError)
        }),
      encode: (error) => ({
        _tag: "RetryExhausted" as const,
        ...(error.operation === undefined ? {} : { operation: error.operation }),
        reason: error.reason,
        attempts: error.attempts,
        elapsed: error.elapsed,
        waits: error.waits,
        history: error.history.map(({ delay, ...failed }) => delay === undefined ? failed : { ...failed, delay }),
        lastError: error.lastError,
        policy: error.policy,
        ...(error.retryAt === undefined ? {} : { retryAt: error.retryAt })
      })
    })
  ))

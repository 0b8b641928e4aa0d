/**
 * What a run did, and when, in virtual time.
 */
import * as Retry from "@reprise/core/Retry"
import type * as Policy from "@reprise/core/Policy"
import type { RetryExhausted } from "@reprise/core/RetryExhausted"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as internal from "./internal/record.ts"
import { render as renderTimeline } from "./internal/render.ts"

export interface Attempt<out A = unknown, out E = unknown> {
  /** The first is 1. */
  readonly number: number
  readonly start: number
  readonly end: number
  readonly outcome: "Success" | "Failure" | "Defect" | "Interrupted" | "TimedOut" | "Hanging"
  /** As the operation ended: an attempt that timed out was interrupted. */
  readonly exit: Exit.Exit<A, E>
}

export interface Timeline<out A = unknown, out E = unknown, out AttemptA = A, out AttemptE = E> {
  readonly attempts: ReadonlyArray<Attempt<AttemptA, AttemptE>>
  readonly waits: ReadonlyArray<number>
  readonly elapsed: number
  readonly outcome: "Success" | "Failure" | "Exhausted" | "Defect" | "Interrupted" | "Hanging"
  readonly exit: Exit.Exit<A, E>
}

export interface Conditions {
  readonly seed?: number | string | undefined
  readonly random?: "lowest" | "highest" | ReadonlyArray<number> | undefined
  readonly interruptAfter?: Duration.Input | undefined
  readonly patience?: Duration.Input | undefined
}

export interface Options<in E = never, out R = unknown> extends Retry.Options<E, R>, Conditions {}

export const record: {
  <A, E extends I, R, I, T, H>(self: Effect.Effect<A, E, R>, policy: Policy.Policy<I, T, H>): Effect.Effect<
    Timeline<
      A,
      | Exclude<E, H>
      | Extract<E, RetryExhausted<any>>
      | Retry.Exhausted<Retry.Meet<Exclude<E, RetryExhausted<any>>, T>>,
      A,
      E
    >,
    never,
    R
  >
  <A, E extends I, R, I, T, H, const O extends Options<E>>(
    self: Effect.Effect<A, E, R>,
    policy: Policy.Policy<I, T, H>,
    options: O
  ): Effect.Effect<
    Timeline<
      A,
      | Exclude<E, Retry.HandledWith<O, H>>
      | Extract<E, RetryExhausted<any>>
      | Retry.Exhausted<Retry.Meet<Exclude<E, RetryExhausted<any>>, T> | Retry.TimeoutOf<O>>,
      A,
      E
    >,
    never,
    R | Retry.NeededBy<O>
  >
} = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  policy: Policy.Policy<E, unknown, never>,
  options: Options<E> = {}
): Effect.Effect<Timeline<A, any, A, E>, never, any> => {
  const { onRetry, when } = options
  return internal.record(
    self,
    (attempt) =>
      Retry.run(attempt, policy, {
        ...options,
        when: when === undefined ? undefined : (error) => internal.aside(when(error)),
        onRetry: onRetry === undefined ? undefined : (event) => internal.aside(onRetry(event))
      } as Options<E>),
    options
  )
}

export const recordWith = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  run: (attempt: Effect.Effect<A, E, R>) => Effect.Effect<B, E2, R2>,
  conditions: Conditions = {}
): Effect.Effect<Timeline<B, E2, A, E>, never, R2> => internal.record(self, run, conditions)

export const render = (timeline: Timeline, options?: { readonly width?: number | undefined }): string =>
  renderTimeline(timeline, options?.width ?? 40)

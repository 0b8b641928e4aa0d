/** The observer that counts. */
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import { bounded } from "./bounded.ts"
import { errorType } from "./errorType.ts"
import * as metrics from "./metricNames.ts"
import * as names from "./names.ts"
import type { Observer } from "./observer.ts"
import { type Series, series } from "./series.ts"

/** Makes a series when it is first asked for: what never happens takes no place. */
const byName = (make: (name: string) => Series<number>): (name: string) => Series<number> => {
  const made = new Map<string, Series<number>>()
  return (name) => {
    let found = made.get(name)
    if (found === undefined) made.set(name, found = make(name))
    return found
  }
}

const lazily = (make: () => Series<number>): () => Series<number> => {
  let made: Series<number> | undefined
  return () => made ??= make()
}

/** The series of one operation. */
interface Counts {
  readonly original: Series<number>
  readonly retry: Series<number>
  readonly waiting: () => Series<number>
  readonly delay: () => Series<number>
  readonly denied: () => Series<number>
  readonly exhausted: (reason: string) => Series<number>
}

const countsOf = (operation: string, context: Context.Context<never>): Counts => {
  const about = { [names.operation]: operation }
  const attempts = (type: string) => series(metrics.attempts({ ...about, [names.attemptType]: type }), context)
  return {
    original: attempts("original"),
    // Made at once, for the ratio of the two to be a number before the first retry.
    retry: attempts("retry"),
    waiting: lazily(() => series(metrics.waiting(about), context)),
    delay: lazily(() => series(metrics.delay(about), context)),
    denied: lazily(() => series(metrics.denied(about), context)),
    exhausted: byName((reason) => series(metrics.exhausted({ ...about, [names.reason]: reason }), context))
  }
}

/** Counts in the registry of the context, under its attributes. */
export const make = (context: Context.Context<never>): Observer => {
  const admit = bounded(names.mostOperations)
  const admitType = bounded(names.mostErrorTypes)
  const byOperation = new Map<string, Counts>()
  let unnamed: Counts | undefined
  // Runs come in rows: the name of the last one saves half of what a start costs.
  let lastName: string | undefined
  let last: Counts | undefined
  let other: Counts | undefined

  const first = (operation: string): Counts => {
    if (admit(operation) === names.other) return other ??= countsOf(names.other, context)
    const counts = countsOf(operation, context)
    byOperation.set(operation, counts)
    return counts
  }
  const of = (operation: string | undefined): Counts =>
    operation === undefined
      ? unnamed ??= countsOf(names.unnamed, context)
      : byOperation.get(operation) ?? first(operation)

  const unclassified = byName((type) => series(metrics.unclassified({ [names.errorType]: type }), context))

  return {
    started: (operation) => {
      if (last === undefined || operation !== lastName) {
        last = of(operation)
        lastName = operation
      }
      last.original.update(1)
    },
    retried: (operation) => of(operation).retry.update(1),
    waiting: (operation, change) => of(operation).waiting().modify(change),
    wantsFirstSuccess: () => false,
    event: (event) => {
      switch (event._tag) {
        case "RetryScheduled":
          return of(event.operation).delay().update(Duration.toSeconds(event.delay))
        case "Exhausted":
          return of(event.operation).exhausted(event.error.reason._tag).update(1)
        case "BudgetDenied":
          return of(event.operation).denied().update(1)
        case "Terminal":
          return event.unclassified ? unclassified(admitType(errorType(event.error))).update(1) : undefined
        case "AttemptFailed":
        case "Succeeded":
        case "Interrupted":
          return undefined
      }
    }
  }
}

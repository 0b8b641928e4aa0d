/**
 * What is worth a second look in a policy, however long it takes.
 */
import * as Plan from "@reprise/core/Plan"
import * as Policy from "@reprise/core/Policy"
import * as Spec from "@reprise/core/Spec"
import * as Result from "effect/Result"
import { type Branch, branches } from "./branches.ts"
import { spell } from "./durations.ts"

export type Kind = "no-end" | "no-jitter" | "no-cap" | "immediate"

/** Why it matters, and what to do. */
export interface Finding {
  readonly finding: Kind
  readonly reason: string
  /** The flag of `reprise check` that allows it. */
  readonly allow: `--allow-${Kind}`
}

const hour = 3_600_000
/** Of a longer policy the first retries are looked at; where there are branches, so many of all. */
const mostAttempts = 1_000

/** A branch, and the waits that it comes to. */
interface Looked extends Branch {
  readonly delays: ReadonlyArray<Plan.Delay>
}

/** A branch names no predicate, and so its notation is all of it. */
const policyOf = ({ spec }: Branch) => Policy.parse(Policy.format({ ...Policy.none, spec }))

const planOf = (policy: Policy.Any, attempts: number): Result.Result<Plan.Plan, unknown> => {
  const short = () => Plan.of(Policy.attempts(policy, attempts))
  return attempts < mostAttempts ? short() : Result.orElse(Plan.of(policy), short)
}

const look = (all: ReadonlyArray<Branch>): ReadonlyArray<Looked> =>
  all.map((branch) => {
    const plan = Result.flatMap(policyOf(branch), (policy) => planOf(policy, Math.ceil(mostAttempts / all.length)))
    return { ...branch, delays: Result.isSuccess(plan) ? plan.success.delays : [] }
  })

const noEnd = ({ spec }: Policy.Any): string | undefined =>
  Spec.hasEnd(spec)
    ? undefined
    : "it has no end: while the other side is down, calls pile up; add attempts(n) or within(duration)"

const noJitter = ({ delays }: Looked): string | undefined => {
  const fixed = delays.find(({ max, min }) => max > 0 && min === max)
  return fixed === undefined
    ? undefined
    : `retry ${fixed.retry} comes after ${spell(fixed.max)} in every client: those that fail together ` +
      "return together; add jitter"
}

const noCap = ({ delays, spec }: Looked): string | undefined => {
  if (Spec.largestDelay(spec) !== Infinity) return undefined
  const long = delays.find(({ max }) => max > hour)
  if (long === undefined && Spec.hasEnd(spec)) return undefined
  return long === undefined
    ? "its waits grow past an hour, as nothing caps them; add cap(duration)"
    : `retry ${long.retry} can wait ${spell(long.max)}, as nothing caps the growth; add cap(duration)`
}

const immediate = ({ delays }: Looked): string | undefined => {
  const count = delays.filter(({ max }) => max === 0).length
  return count > 1
    ? `${count} retries come without any wait: one may catch a lost connection, more only add load`
    : undefined
}

/** The first branch of which something is to be said, and that. */
const first = (looked: ReadonlyArray<Looked>, judge: (branch: Looked) => string | undefined): string | undefined => {
  for (const branch of looked) {
    const reason = judge(branch)
    if (reason !== undefined) return branch.when === "" ? reason : `${branch.when}: ${reason}`
  }
  return undefined
}

/** The findings of a policy, gravest first. */
export const find = (policy: Policy.Any): ReadonlyArray<Finding> => {
  const looked = look(branches(policy.spec))
  const found: ReadonlyArray<readonly [Kind, string | undefined]> = [
    ["no-end", noEnd(policy)],
    ["no-jitter", first(looked, noJitter)],
    ["no-cap", first(looked, noCap)],
    ["immediate", first(looked, immediate)]
  ]
  return found.flatMap(([finding, reason]) =>
    reason === undefined ? [] : [{ finding, reason, allow: `--allow-${finding}` as const }]
  )
}

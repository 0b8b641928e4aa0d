/**
 * A second meaning of policies: naive, slow, and written from the rules (docs of `Spec` and `Stepper`, R1 to R14), not
 * from the implementation. What it decides after the last of some failures is computed anew from the first one.
 */
import { RetryExhausted, type Spec, type Stepper } from "@reprise/core"

/** One failure of a run, with its error. */
export interface Failure extends Stepper.Failure {
  readonly error: unknown
}

/** The functions that the names of a spec stand for. */
export type Predicates = Readonly<Record<string, (error: unknown) => boolean>>

/** From first to last: of several reasons the first in this list counts. */
export const precedence = [
  "Attempts",
  "End",
  "Pushback",
  "RetryAfterTooLong",
  "Elapsed",
  "Layer",
  "Terminal"
] as const

export type Reason = typeof precedence[number]

export type Decision = { readonly wait: number } | { readonly stop: Reason }

/** What a place of the spec answers: a wait with the latest moment at which its retry may start, or a stop. */
type Answer = { readonly wait: number; readonly latest: number } | { readonly stop: Reason }

/** What the places of one replay remember, by their path in the spec. */
interface Memory {
  readonly counts: Map<string, number>
  readonly previous: Map<string, number>
  readonly stopped: Map<string, { readonly stop: Reason }>
  drawn: number
}

interface Moment {
  readonly failure: Failure
  readonly predicates: Predicates
  readonly memory: Memory
  /** Hint and spread, which stand outside of the policy's own waits. */
  readonly extra: number
  readonly draw: () => number
}

const join = (reasons: ReadonlyArray<Reason>): { readonly stop: Reason } => ({
  stop: precedence.find((_) => reasons.includes(_))!
})

/** A member without a say about this error: every other reason counts before it. */
const rejected: Answer = { stop: "Terminal" }

const reasonsOf = (answers: ReadonlyArray<Answer>): ReadonlyArray<Reason> =>
  answers.flatMap((_) => "stop" in _ ? [_.stop] : [])

const tagOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "_tag" in error ? error._tag : undefined

const saturated = (delay: number): number => Math.min(delay, Number.MAX_SAFE_INTEGER)

/**
 * The members of a min. A min inside it is the same as its members there (R12), also one under what has no state of its
 * own: a cap, which holds for each of them, and what is said of the whole policy.
 */
const flatMembers = (spec: Spec.Spec): ReadonlyArray<Spec.Spec> => {
  switch (spec._tag) {
    case "Min":
      return spec.members.flatMap(flatMembers)
    case "Capped":
    case "HonoringRetryAfter":
    case "Unlimited":
      return flatMembers(spec.self).map((self) => ({ ...spec, self }))
    default:
      return [spec]
  }
}

/** Classification: a stateless function of spec and error (R12). The driver's own timeouts pass every predicate. */
const accepts = (spec: Spec.Spec, { failure, predicates }: Pick<Moment, "failure" | "predicates">): boolean => {
  const inside = (_: Spec.Spec): boolean => accepts(_, { failure, predicates })
  const holds = (name: string): boolean => predicates[name]!(failure.error)
  switch (spec._tag) {
    case "Exponential":
    case "Linear":
    case "Fibonacci":
    case "Polynomial":
    case "Constant":
    case "Decorrelated":
    case "Delays":
    case "Immediate":
      return true
    case "None":
      return failure.timedOut
    case "While":
      return (failure.timedOut || holds(spec.predicate)) && inside(spec.self)
    case "Until":
      return (failure.timedOut || !holds(spec.predicate)) && inside(spec.self)
    case "WhileTag":
      return (failure.timedOut || spec.tags.some((_) => _ === tagOf(failure.error))) && inside(spec.self)
    case "Max":
      return spec.members.every(inside)
    case "Min":
    case "Concat":
      return spec.members.some(inside)
    case "ByInput":
      return inside(branch(spec, { failure, predicates })[1])
    default:
      return inside(spec.self)
  }
}

/** The index and the policy of the first case that knows the error. */
const branch = (
  spec: Spec.ByInput,
  { failure, predicates }: Pick<Moment, "failure" | "predicates">
): [index: number, spec: Spec.Spec] => {
  const index = failure.timedOut ? -1 : spec.cases.findIndex((_) => predicates[_.name]!(failure.error))
  return index < 0 ? [spec.cases.length, spec.otherwise] : [index, spec.cases[index]!.policy]
}

/** The cap that a spec has for certain; a combination's is the largest of its members' (R5). */
const staticCap = (spec: Spec.Spec): number => {
  switch (spec._tag) {
    case "Capped":
      return Math.min(spec.max, staticCap(spec.self))
    case "Decorrelated":
      return spec.cap
    case "None":
    case "Immediate":
      // They have no wait, so they lift no cap beside them.
      return 0
    case "Concat":
    case "Max":
    case "Min":
      return Math.max(...spec.members.map(staticCap))
    case "ByInput":
      return Math.max(staticCap(spec.otherwise), ...spec.cases.map((_) => staticCap(_.policy)))
    default:
      return "self" in spec ? staticCap(spec.self) : Infinity
  }
}

/** The latest moment of a run at which a retry of this spec may start. */
const elapsedLimit = (spec: Spec.Spec): number => {
  switch (spec._tag) {
    case "None":
      return 0
    case "Within":
      return Math.min(spec.duration, elapsedLimit(spec.self))
    case "Max":
      return Math.min(...spec.members.map(elapsedLimit))
    case "Concat":
    case "Min":
      return Math.max(...spec.members.map(elapsedLimit))
    case "ByInput":
      return Math.max(elapsedLimit(spec.otherwise), ...spec.cases.map((_) => elapsedLimit(_.policy)))
    default:
      return "self" in spec ? elapsedLimit(spec.self) : Infinity
  }
}

/** The smallest of all the hint limits in a spec (R7). */
const hintLimits = (spec: Spec.Spec): ReadonlyArray<number> => {
  switch (spec._tag) {
    case "HonoringRetryAfter":
      return [spec.max, ...hintLimits(spec.self)]
    case "Concat":
    case "Max":
    case "Min":
      return spec.members.flatMap(hintLimits)
    case "ByInput":
      return [...spec.cases.flatMap((_) => hintLimits(_.policy)), ...hintLimits(spec.otherwise)]
    default:
      return "self" in spec ? hintLimits(spec.self) : []
  }
}

/** The hint of an error as the scripts of these tests carry it: milliseconds, or -1 for "do not retry". */
const readHint = (error: unknown, now: number): number | undefined => {
  if (typeof error !== "object" || error === null || !("retryAfter" in error)) return undefined
  const { retryAfter } = error
  if (retryAfter === "do not retry") return -1
  const millis = retryAfter instanceof Date ? retryAfter.getTime() - now : retryAfter
  if (typeof millis !== "number" || Number.isNaN(millis)) return undefined
  return millis > 1e15 ? Infinity : Math.max(0, millis)
}

const hidesExhausted = (error: unknown): boolean => {
  let at = error
  for (let depth = 0; depth < 10 && typeof at === "object" && at !== null && "cause" in at; depth++) {
    at = at.cause
    if (RetryExhausted.is(at)) return true
  }
  return false
}

const fibonacci = (n: number): number => {
  let [current, next] = [1, 1]
  for (let i = 1; i < n; i++) [current, next] = [next, current + next]
  return current
}

/** How often a place was asked, this time included. */
const counted = ({ memory }: Moment, place: string): number => {
  const count = (memory.counts.get(place) ?? 0) + 1
  memory.counts.set(place, count)
  return count
}

/**
 * An answer, unless its wait would lead past the latest moment that a `within` anywhere in it allows (R4). What stands
 * around a `within` changes the wait that it judges, so it is asked where the wait is complete, or another member would
 * take over: at the end of the policy, and of the members of `concat` and `min`.
 */
const inTime = ({ extra, failure }: Pick<Moment, "extra" | "failure">, answer: Answer): Answer =>
  "wait" in answer && failure.elapsed + extra + answer.wait > answer.latest ? { stop: "Elapsed" } : answer

/** What one place of the spec answers, under the smallest cap around it. */
const ask = (spec: Spec.Spec, place: string, cap: number, moment: Moment): Answer => {
  if (!accepts(spec, moment)) return rejected
  const { failure, memory } = moment
  const inside = (self: Spec.Spec): Answer => ask(self, `${place}/self`, cap, moment)
  const member = (spec: Spec.Spec, index: number): Answer => ask(spec, `${place}/${index}`, cap, moment)
  const own = (delay: number): Answer => ({ wait: Math.min(saturated(delay), cap), latest: Infinity })
  switch (spec._tag) {
    case "None":
      return rejected
    case "Exponential":
      return own(spec.base * spec.factor ** (counted(moment, place) - 1))
    case "Linear":
      return own(spec.base + spec.increment * (counted(moment, place) - 1))
    case "Fibonacci":
      return own(spec.base * fibonacci(counted(moment, place)))
    case "Polynomial": {
      const retry = counted(moment, place)
      const delay = spec.offset + spec.base * (spec.start + retry - 1) ** spec.exponent
      return own(spec.spread === 0 ? delay : delay + moment.draw() * spec.spread * retry)
    }
    case "Constant":
      return own(spec.delay)
    case "Decorrelated": {
      const most = Math.min(spec.cap, cap)
      const base = Math.min(spec.base, most)
      const previous = memory.previous.get(place) ?? base
      const answer = own(Math.min(most, base + moment.draw() * (3 * previous - base)))
      if ("wait" in answer) memory.previous.set(place, answer.wait)
      return answer
    }
    case "Delays": {
      const delay = spec.delays[counted(moment, place) - 1]
      return delay === undefined ? { stop: "End" } : own(delay)
    }
    case "Immediate":
      return counted(moment, place) > spec.retries ? { stop: "End" } : own(0)
    case "Jittered": {
      const answer = inside(spec.self)
      if ("stop" in answer) return answer
      const factor = spec.min + moment.draw() * (spec.max - spec.min)
      return { ...answer, wait: Math.min(saturated(answer.wait * factor), cap, staticCap(spec.self)) }
    }
    case "Capped":
      return ask(spec.self, `${place}/self`, Math.min(cap, spec.max), moment)
    case "Attempts":
      return failure.attempt < spec.max ? inside(spec.self) : { stop: "Attempts" }
    case "Recurs": {
      if ((memory.counts.get(place) ?? 0) >= spec.retries) return { stop: "Attempts" }
      const answer = inside(spec.self)
      if ("wait" in answer) counted(moment, place)
      return answer
    }
    case "Within": {
      const answer = inside(spec.self)
      if ("stop" in answer) return answer
      return { ...answer, latest: Math.min(answer.latest, spec.duration) }
    }
    case "While":
    case "Until":
    case "WhileTag":
    case "HonoringRetryAfter":
    case "Unlimited":
      return inside(spec.self)
    case "ByInput": {
      const [index, chosen] = branch(spec, moment)
      return member(chosen, index)
    }
    case "Concat": {
      // Whatever stopped a member, the next takes over for good. A later one may still retry when an earlier may not.
      const stops: Array<Reason> = []
      for (const [index, self] of spec.members.entries()) {
        const at = `${place}/${index}`
        const answer = memory.stopped.get(at) ?? inTime(moment, member(self, index))
        if ("wait" in answer) {
          return { ...answer, latest: Math.max(answer.latest, ...spec.members.slice(index + 1).map(elapsedLimit)) }
        }
        memory.stopped.set(at, answer)
        stops.push(answer.stop)
      }
      return join(stops)
    }
    case "Max": {
      const answers = spec.members.map(member)
      const stops = reasonsOf(answers)
      if (stops.length > 0) return join(stops)
      const waits = answers.flatMap((_) => "wait" in _ ? [_] : [])
      return { wait: Math.max(...waits.map((_) => _.wait)), latest: Math.min(...waits.map((_) => _.latest)) }
    }
    case "Min": {
      // A limit that was reached stays; an error that was rejected is only that one error.
      const answers = flatMembers(spec).map((self, index) => {
        if (!accepts(self, moment)) return rejected
        const at = `${place}/${index}`
        const answer = memory.stopped.get(at) ?? inTime(moment, member(self, index))
        if ("stop" in answer) memory.stopped.set(at, answer)
        return answer
      })
      const waits = answers.flatMap((_) => "wait" in _ ? [_] : [])
      if (waits.length === 0) return join(reasonsOf(answers))
      return { wait: Math.min(...waits.map((_) => _.wait)), latest: Math.max(...waits.map((_) => _.latest)) }
    }
  }
}

const decideNext = (
  spec: Spec.Spec,
  predicates: Predicates,
  failure: Failure,
  memory: Memory,
  draws: (index: number) => number
): Decision => {
  const draw = (): number => draws(memory.drawn++)
  if (!failure.timedOut && RetryExhausted.is(failure.error)) return { stop: "Terminal" }
  if (!accepts(spec, { failure, predicates })) return { stop: "Terminal" }
  if (!failure.timedOut && hidesExhausted(failure.error)) return { stop: "Layer" }

  const limits = hintLimits(spec)
  const hint = limits.length === 0 ? undefined : readHint(failure.error, failure.now)
  const stops: Array<Reason> = []
  let extra = 0
  if (hint === -1) stops.push("Pushback")
  else if (hint !== undefined && hint > Math.min(...limits)) stops.push("RetryAfterTooLong")
  else if (hint !== undefined && hint > 0) extra = hint + draw() * Math.min(5000, hint / 10)

  const moment: Moment = { failure, predicates, memory, extra, draw }
  const answer = inTime(moment, ask(spec, "", Infinity, moment))
  if ("wait" in answer) return stops.length > 0 ? join(stops) : { wait: extra + answer.wait }
  // The error was accepted, so it does not leave as a rejected one, although every member still there rejects it.
  return join([...stops, answer.stop === "Terminal" ? "End" : answer.stop])
}

/**
 * What a policy decides after the last of these failures. `draws` gives the random numbers of the run by their index.
 */
export const decide = (
  spec: Spec.Spec,
  predicates: Predicates,
  failures: ReadonlyArray<Failure>,
  draws: (index: number) => number
): Decision => {
  const memory: Memory = { counts: new Map(), previous: new Map(), stopped: new Map(), drawn: 0 }
  let decision: Decision | undefined
  for (const failure of failures) {
    if (decision !== undefined && "stop" in decision) throw new Error("A run does not go on after its stop")
    decision = decideNext(spec, predicates, failure, memory, draws)
  }
  if (decision === undefined) throw new Error("Nothing has failed yet")
  return decision
}

import type { Decision, Source, State, Stepper } from "../../Stepper.ts"
import { mostAttempts, TooManyRuns } from "./errors.ts"
import { largestDraw } from "../stepper/node.ts"

/** One kind of failure: what the stepper is told at every attempt that fails by it. */
export interface Kind {
  readonly input: unknown
  /** Skips the predicates: the failure that passes every classification. */
  readonly timedOut: boolean
}

/** A run in which every attempt fails and takes no time. */
export interface Path {
  /** The waits, in milliseconds. */
  readonly delays: ReadonlyArray<number>
  /** When each retry starts, in milliseconds after the start of attempt 1. */
  readonly starts: ReadonlyArray<number>
  /** What ended it; `undefined` when it goes on after the most attempts that were asked for. */
  readonly stop: Decision | undefined
}

/** The start of the last retry. */
export const last = (starts: Path["starts"]): number => starts[starts.length - 1] ?? 0

export const clone = ({ extra, hint, limit, slots }: State): State => ({ slots: slots.slice(), extra, hint, limit })

/** What comes after an attempt that failed `elapsed` milliseconds after the start of attempt 1. */
export const decide = (
  stepper: Stepper,
  state: State,
  attempt: number,
  elapsed: number,
  kind: Kind,
  random: Source
): Decision => stepper.step(state, { attempt, elapsed, now: 0, timedOut: kind.timedOut }, kind.input, random)

/** A source of one number; 1 stands for the largest that there is. */
const always = (draw: number): Source => ({ nextDoubleUnsafe: () => Math.min(draw, largestDraw) })

/** What waits come close to as their draw comes close to 1, from the wait at the largest draw. */
export const supremum = (wait: number): number => Math.max(wait, Number(wait.toPrecision(13)))

/**
 * The run in which every draw is the same. Waits never fall when a draw rises, so 0 gives the shortest, and 1, which
 * draws only come close to, the bound of the longest. It ends after a retry that starts later than `far`.
 */
export const walk = (
  stepper: Stepper,
  kind: Kind,
  draw: number,
  most: number = mostAttempts,
  far: number = Infinity
): Path => {
  const random = always(draw)
  const state = stepper.start()
  const delays: Array<number> = []
  const starts: Array<number> = []
  let start = 0
  for (let attempt = 1; attempt <= most; attempt++) {
    const decision = decide(stepper, state, attempt, start, kind, random)
    if (decision < 0) return { delays, starts, stop: decision }
    const delay = draw === 1 ? supremum(decision) : decision
    start += delay
    delays.push(delay)
    starts.push(start)
    if (start > far) break
  }
  return { delays, starts, stop: undefined }
}

interface Reached {
  readonly state: State
  readonly start: number
}

/** The most states that are followed at once, so that many kinds of failure cannot make the search explode. */
const widest = 64

interface Answer {
  readonly state: State
  readonly decision: Decision
}

/** What the stepper answers up to, and at, a time. */
interface Until {
  readonly answer: Answer
  readonly until: number
}

const only = (elapsed: number, at: (elapsed: number) => Answer): Until => ({ answer: at(elapsed), until: elapsed })

const isSame = (one: Answer, other: Answer): boolean =>
  one.decision === other.decision && one.state.slots.every((slot, index) => slot === other.state.slots[index])

/** Every answer to one failure between two times, each with the latest time at which it is given. */
const answersBetween = (
  from: number,
  to: number,
  at: (elapsed: number) => Answer,
  work: Work
): ReadonlyArray<Until> => {
  const final = only(to, at)
  const found = [final]
  let since = from
  for (;;) {
    const answer = at(since)
    if (isSame(answer, final.answer)) return found
    let until = since
    let after = to
    while (after - until > 1e-6 * (1 + until)) {
      work.left--
      const middle = (until + after) / 2
      if (isSame(at(middle), answer)) until = middle
      else after = middle
    }
    // It may hold until a little later than where the halving ended.
    found.push({ answer, until: after })
    since = after
  }
}

/** How many failures searches may still look at, together. */
export interface Work {
  left: number
}

/** A tenth of a second of work, at most. */
export const someWork = (): Work => ({ left: 400_000 })

/**
 * The earliest (draws of 0) or latest (1) start of each retry over every sequence of kinds of failure, attempts taking
 * no time. It stops early after a retry that starts later than `far` when attempts take `timeout`, and throws
 * `TooManyRuns` when there is more to look at than `work` allows. Where time decides, `between` says how early a
 * run may be, and a hint is as good as so much time.
 */
export const search = (
  stepper: Stepper,
  kinds: ReadonlyArray<Kind>,
  draw: 0 | 1,
  far: number,
  timeout: number,
  work: Work,
  most: number = mostAttempts,
  between?: { readonly earliest: Path["starts"]; readonly hint: number }
): Path["starts"] => {
  const sign = draw === 0 ? 1 : -1
  const random = always(draw)
  const starts: Array<number> = []
  let frontier: ReadonlyArray<Reached> = [{ state: stepper.start(), start: 0 }]
  for (let attempt = 1; attempt <= most; attempt++) {
    // Runs in one state differ in nothing but their start, and the extreme one stands for all.
    const next = new Map<string, Reached>()
    work.left -= frontier.length * kinds.length
    if (work.left < 0) throw new TooManyRuns()
    const since = between === undefined || attempt === 1 ? 0 : between.earliest[attempt - 2] ?? last(between.earliest)
    for (const { start, state: before } of frontier) {
      for (const kind of kinds) {
        const at = (elapsed: number): Answer => {
          const state = clone(before)
          return { state, decision: decide(stepper, state, attempt, elapsed, kind, random) }
        }
        const answers = between === undefined
          ? [only(start, at)]
          : answersBetween(Math.min(since, start), start + between.hint, at, work)
        for (const { answer, until } of answers) {
          const { decision, state } = answer
          if (decision < 0) continue
          const reached = { state, start: until + (draw === 1 ? supremum(decision) : decision) }
          const key = kinds.length === 1 && between === undefined ? "" : state.slots.join()
          const other = next.get(key)
          if (other === undefined || (reached.start - other.start) * sign < 0) next.set(key, reached)
        }
      }
    }
    if (next.size === 0) break
    frontier = [...next.values()].sort((a, b) => (a.start - b.start) * sign).slice(0, widest)
    const { start } = frontier[0]!
    starts.push(start)
    if (start + attempt * timeout > far) break
  }
  return starts
}

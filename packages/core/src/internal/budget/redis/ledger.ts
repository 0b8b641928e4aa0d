/**
 * What this process has done in the window, by slices of its own clock, and how much of that Redis has been told. It is
 * kept whether or not Redis is there, so that a server that has forgotten everything can be told again.
 */
import { slices } from "./script.ts"

// The window ends somewhere in one slice more, and that a slice is over is only seen when somebody looks.
const size = slices + 2

interface Counts {
  readonly number: number
  requests: number
  /** Retries that Redis granted. */
  granted: number
  /** Retries that the process allowed itself, less all that were given back. */
  own: number
  /** How often something changed. */
  version: number
}

interface Slice extends Counts {
  /** What of it Redis has for certain. */
  told: Readonly<Counts>
}

/** What Redis is told, slice by slice, the newest last. */
type Report = ReadonlyArray<Readonly<Counts>>

export interface Ledger {
  /** The slice of a time. */
  readonly at: (now: number) => number
  readonly request: (now: number) => void
  readonly granted: (slice: number) => void
  /** A retry that the process allowed itself, or (-1) one that was given back. */
  readonly own: (slice: number, by: 1 | -1) => void
  /** All of the window, or what is new; always the slice of now. */
  readonly report: (now: number, whole: boolean) => Report
  /** As the script reads it: number, age, requests and retries. */
  readonly written: (now: number, report: Report) => ReadonlyArray<number>
  /** Redis has it. */
  readonly told: (report: Report) => void
  /** What Redis has not been told, weighed by how much of it is in the window. */
  readonly untold: (now: number) => { readonly requests: number; readonly own: number }
  /** How much of what happened at a time is in the window now, 0 to 1. */
  readonly part: (now: number, time: number) => number
}

const countsOf = (number: number): Counts => ({ number, requests: 0, granted: 0, own: 0, version: 0 })

const sliceOf = (number: number): Slice => ({ ...countsOf(number), told: countsOf(number) })

export const make = (window: number, origin: number): Ledger => {
  const length = window / slices
  const ring = Array.from({ length: size }, () => sliceOf(-1))
  let current = -1
  let end = origin

  const at = (now: number): number => {
    if (now < end) return current
    const next = Math.floor((now - origin) / length)
    for (let number = Math.max(current + 1, next - size + 1); number <= next; number++) {
      ring[number % size] = sliceOf(number)
    }
    current = next
    end = origin + (next + 1) * length
    return current
  }
  const change = (number: number, of: "requests" | "granted" | "own", by: number): void => {
    const slice = ring[number % size]!
    // What left the window counts no more.
    if (slice.number !== number) return
    slice[of] += by
    slice.version++
  }
  const part = (now: number, number: number): number =>
    number > current - slices ? 1 : number < current - slices ? 0 : Math.min(1, (end - now) / length)

  return {
    at,
    request: (now) => change(at(now), "requests", 1),
    granted: (number) => change(number, "granted", 1),
    own: (number, by) => change(number, "own", by),
    report: (now, whole) => {
      at(now)
      const report: Array<Counts> = []
      for (let n = Math.max(0, current - slices); n <= current; n++) {
        const { granted, number, own, requests, told, version } = ring[n % size]!
        if (number === current || version > (whole ? 0 : told.version)) {
          report.push({ number, requests, granted, own, version })
        }
      }
      return report
    },
    written: (now, report) =>
      report.flatMap(({ granted, number, own, requests }) => [
        number,
        Math.max(0, Math.round(now - origin - number * length)),
        requests,
        granted + own
      ]),
    told: (report) => {
      for (const counts of report) {
        const slice = ring[counts.number % size]!
        if (slice.number === counts.number && slice.told.version < counts.version) slice.told = counts
      }
    },
    untold: (now) => {
      at(now)
      let requests = 0
      let own = 0
      for (const slice of ring) {
        if (slice.version === slice.told.version) continue
        const weight = part(now, slice.number)
        requests += weight * (slice.requests - slice.told.requests)
        own += weight * (slice.own - slice.told.own)
      }
      return { requests, own }
    },
    part: (now, time) => {
      at(now)
      return part(now, Math.floor((time - origin) / length))
    }
  }
}

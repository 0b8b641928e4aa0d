/**
 * What each kind of budget has, counted from all that ever happened, each time anew: slow, and plain to see.
 */

export type Event =
  | { readonly _tag: "request" | "failure" | "taken"; readonly at: number; readonly id: number }
  | { readonly _tag: "success"; readonly at: number; readonly id: number; readonly last: number | undefined }
  | { readonly _tag: "refunded" | "started" | "settled"; readonly at: number; readonly id: number; readonly of: number }
  | { readonly _tag: "entered" | "exited" | "read"; readonly at: number; readonly id: number }

/** The balance after these events, read now. */
export type Model = (events: ReadonlyArray<Event>, now: number) => number

const count = (events: ReadonlyArray<Event>, tag: Event["_tag"]): number => events.filter((_) => _._tag === tag).length

/** What was taken and not given back in time. */
const kept = (events: ReadonlyArray<Event>): ReadonlyArray<Event> => {
  const back = new Set(events.flatMap((_) => _._tag === "refunded" ? [_.of] : []))
  return events.filter((_) => _._tag === "taken" && !back.has(_.id))
}

/** Slices from the first event on, which lie where the draw puts them; the oldest counts as far as it is in the window. */
export const topUp = (
  { drawn, initial, minPerSecond, ratio, window }: {
    readonly ratio: number
    readonly minPerSecond: number
    readonly initial: number
    readonly window: number
    readonly drawn: number
  }
): Model =>
(events, now) => {
  const first = events[0]?.at ?? now
  const length = window / 10
  const origin = first - (drawn * 10) % 1 * length
  const begins = minPerSecond === 0 ? first : first + drawn * 1000 / minPerSecond
  const sliceOf = (at: number): number => Math.floor((at - origin) / length)
  const current = sliceOf(now)
  const weight = (slice: number): number => {
    const age = current - slice
    return age < 10 ? 1 : age > 10 ? 0 : 1 - ((now - origin) / length - current)
  }
  let credit = 0
  for (let slice = Math.max(0, current - 10); slice <= current; slice++) {
    const from = Math.max(first, origin + slice * length)
    const to = Math.min(now, origin + (slice + 1) * length)
    const requests = events.filter((_) => _._tag === "request" && sliceOf(_.at) === slice).length
    const early = Math.max(0, Math.min(to, begins) - from)
    const brought = Math.max(ratio * requests, minPerSecond * (to - from) / 1000) - minPerSecond * early / 1000
    credit += brought * weight(slice)
  }
  const most = initial + Math.max(0, Math.ceil(Number((minPerSecond * window / 1000).toFixed(6))) - 1)
  const atStart = Math.max(0, Math.min(initial * weight(0), most - credit))
  return credit + atStart - kept(events).reduce((sum, { at }) => sum + weight(sliceOf(at)), 0)
}

/** Generations that begin when somebody calls, a tenth of a window after the last one at the earliest. */
export const ratio = (
  { minPerSecond, ratio, window }: { readonly ratio: number; readonly minPerSecond: number; readonly window: number }
): Model =>
(events, now) => {
  const length = window / 10
  const generations: Array<number> = []
  let generation = 0
  let began = events[0]?.at ?? now
  const call = (at: number): number => {
    if (at - began >= length) {
      generation += Math.min(Math.floor((at - began) / length), 10)
      began = at
    }
    return generation
  }
  for (const { at } of events) generations.push(call(at))
  call(now)
  const alive = (event: Event): boolean => generation - generations[events.indexOf(event)]! < 10
  const cost = ratio === 0 ? 1 : Math.floor(1000 / ratio)
  const deposits = ratio === 0 ? 0 : 1000 * events.filter((_) => _._tag === "request" && alive(_)).length
  const reserve = Math.floor(minPerSecond * window / 1000 * cost)
  return Math.trunc((reserve + deposits - cost * kept(events).filter(alive).length) / cost) + 0
}

export const throttle = (
  { maxTokens, tokenRatio }: { readonly maxTokens: number; readonly tokenRatio: number }
): Model =>
(events) => {
  const thousandths = (tokens: number): number => Number(tokens.toFixed(3)) * 1000
  const most = Math.round(thousandths(maxTokens))
  let tokens = most
  for (const { _tag } of events) {
    if (_tag === "failure") tokens = Math.max(0, tokens - 1000)
    if (_tag === "success") tokens = Math.min(most, tokens + Math.round(thousandths(tokenRatio)))
  }
  return (tokens - most / 2 - 1000) / 1000
}

export const quota = (
  { capacity, retryCost }: { readonly capacity: number; readonly retryCost: number }
): Model =>
(events) => {
  let available = capacity
  for (const event of events) {
    if (event._tag === "taken") available -= retryCost
    if (event._tag === "refunded") available = Math.min(capacity, available + retryCost)
    if (event._tag === "success") {
      available = Math.min(capacity, available + (event.last === undefined ? 1 : retryCost))
    }
  }
  return available / retryCost
}

export const concurrent = (
  { minimum, percent }: { readonly percent: number; readonly minimum: number }
): Model =>
(events) => {
  const active = count(events, "entered") - count(events, "exited")
  const held = count(events, "taken") - count(events, "refunded") - count(events, "settled")
  return Math.max(Math.floor(active * percent / 100), minimum) - held
}

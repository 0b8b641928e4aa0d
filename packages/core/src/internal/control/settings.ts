/** What a state says of each operation and origin, worked out when it is set. */
import { both } from "../budget/all.ts"
import type { Meter } from "../budget/meter.ts"
import * as validated from "../budget/options.ts"
import * as ratioMeter from "../budget/ratio.ts"
import type { Setting } from "../control.ts"
import type { Entry, State } from "./state.ts"

const off: Setting = { off: true, meter: undefined, beside: (own) => own }

// The driver knows nothing of several meters, so that programs without a switch need not carry them.
const metering = (meter: Meter): Setting => ({ off: false, meter, beside: (own) => both(meter, own) })

/** The meter of a lowered ratio: that share of the requests of the last 10 seconds, and nothing in reserve. */
const lowered = (ratio: number): Meter => ratioMeter.make(validated.ratio("RetryControl", { ratio, minPerSecond: 0 }))

/** Both hold: off before any ratio, and of two ratios what both allow. */
export const strictest = (one: Setting, other: Setting): Setting => {
  if (one.off || other.off) return off
  if (one.meter === undefined || one.meter === other.meter) return other
  return other.meter === undefined ? one : metering(both(one.meter, other.meter))
}

interface Metered {
  readonly ratio: number
  readonly setting: Setting
}

/** What an operation or an origin comes to, with what holds for everything. */
interface Scope {
  readonly own: Setting
  readonly setting: Setting
  /** With an entry of the other kind; filled as runs ask. */
  readonly with: Map<Scope, Setting>
}

export interface Settings {
  readonly setting: (operation: string | undefined, origin: string | undefined) => Setting | undefined
  readonly metered: ReadonlyMap<string, Metered>
}

/** The most pairs of an operation and an origin that are kept: those of two long lists could fill the memory. */
const mostPairs = 4_096

/** The settings of a state. What has the same ratio as in `before` keeps its meter, and with it what it has counted. */
export const make = (state: State, before: Settings | undefined): Settings => {
  const metered = new Map<string, Metered>()
  const read = (entry: Entry, key: string): Setting | undefined => {
    if (entry.retries === "off" || entry.ratio === 0) return off
    if (entry.ratio === undefined) return undefined
    const old = before?.metered.get(key)
    const now = old?.ratio === entry.ratio
      ? old
      : { ratio: entry.ratio, setting: metering(lowered(entry.ratio)) }
    metered.set(key, now)
    return now.setting
  }
  const all = read(state, "all")
  const scopes = (entries: { readonly [name: string]: Entry } = {}, kind: string) => {
    const scopes = new Map<string, Scope>()
    for (const [name, entry] of Object.entries(entries)) {
      const own = read(entry, `${kind} ${name}`)
      if (own === undefined) continue
      scopes.set(name, { own, setting: all === undefined ? own : strictest(all, own), with: new Map() })
    }
    return scopes
  }
  const operations = scopes(state.operations, "operation")
  const origins = scopes(state.origins, "origin")
  let pairs = 0
  const pair = (operation: Scope, origin: Scope): Setting => {
    if (pairs === mostPairs) {
      for (const scope of operations.values()) scope.with.clear()
      pairs = 0
    }
    pairs++
    // Of the origin its own alone: what holds for everything is in the operation's already, and would count twice.
    const setting = strictest(operation.setting, origin.own)
    operation.with.set(origin, setting)
    return setting
  }
  return {
    metered,
    setting: (operation, origin) => {
      const one = operation === undefined ? undefined : operations.get(operation)
      const other = origin === undefined ? undefined : origins.get(origin)
      if (one === undefined) return other === undefined ? all : other.setting
      if (other === undefined) return one.setting
      return one.with.get(other) ?? pair(one, other)
    }
  }
}

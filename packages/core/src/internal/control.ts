/** What the driver asks of the switch. */
import * as Context from "effect/Context"
import type { Meter } from "./budget/meter.ts"

/** What holds for one operation and one origin, from the strictest of the entries that name it. */
export interface Setting {
  /** Retries are switched off. */
  readonly off: boolean
  /** The budget of a lowered ratio, beside the client's own. */
  readonly meter: Meter | undefined
  /** That budget and the client's own as one. */
  readonly beside: (own: Meter) => Meter
}

export interface Control {
  /** The setting in force now, or `undefined` where nothing is switched. Synchronous and cheap: it is asked by each run. */
  readonly setting: (operation: string | undefined, origin: string | undefined) => Setting | undefined
}

/** The switch of the context; none by default. */
export const CurrentControl: Context.Reference<Control | undefined> = /* @__PURE__ */ Context.Reference(
  "@reprise/core/RetryControl/Current",
  { defaultValue: (): Control | undefined => undefined }
)

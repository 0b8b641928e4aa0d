/** The claim under which an operation runs. */
import * as Context from "effect/Context"

export interface Claim {
  readonly record: string
  readonly fence: number
}

export const CurrentClaim: Context.Reference<Claim | undefined> = /* @__PURE__ */ Context.Reference<Claim | undefined>(
  "@reprise/idempotency/CurrentClaim",
  { defaultValue: () => undefined }
)

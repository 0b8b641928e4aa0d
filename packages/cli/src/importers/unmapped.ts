/**
 * What an importer does not know of is not lost either.
 */
import type { Unmapped } from "./Imported.ts"
import { type Found, Unreadable } from "./tree.ts"

/** Why a field has no equivalent, by its name. */
export type Reasons = Readonly<Record<string, string>>

export const reasonOf = (reasons: Reasons, field: string): string =>
  (Object.hasOwn(reasons, field) ? reasons[field] : undefined) ?? "unknown to this importer"

/** The fields with a reason, and those that nobody knows. Throws when none of the fields is known. */
export const list = (
  { fields, spelled }: Found,
  mapped: ReadonlyArray<string>,
  reasons: Reasons
): ReadonlyArray<Unmapped> => {
  const entries = Object.entries(fields)
  if (entries.length > 0 && !entries.some(([field]) => mapped.includes(field) || Object.hasOwn(reasons, field))) {
    throw new Unreadable(`has no retry policy: it knows none of ${mapped.join(", ")}`)
  }
  return entries.flatMap(([field, value]) =>
    mapped.includes(field)
      ? []
      : [{
        field: spelled(field),
        value,
        reason: reasonOf(reasons, field)
      }]
  )
}

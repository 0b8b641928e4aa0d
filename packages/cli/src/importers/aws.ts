/**
 * The AWS shared config: `retry_mode` and `max_attempts` of each profile. Source: AWS SDKs and Tools Reference Guide,
 * "Retry behavior": the standard mode that is the default since November 2026, and boto/botocore for legacy mode.
 */
import * as Policy from "@reprise/core/Policy"
import * as Transience from "@reprise/core/Transience"
import type { Imported, Importer, Unmapped } from "./Imported.ts"
import { each, number, reading, Unreadable } from "./tree.ts"

interface Profile {
  readonly name: string
  readonly settings: Map<string, string>
}

const header = /^\[\s*(.+?)\s*\]\s*(?:[#;].*)?$/
// A value that is indented belongs to the setting before it.
const setting = /^([\w-]+)\s*=\s*(.*?)\s*(?:\s[#;].*)?$/

const profiles = (text: string): ReadonlyArray<Profile> => {
  const found: Array<Profile> = []
  for (const line of text.split(/\r?\n/)) {
    const name = header.exec(line)?.[1]
    if (name !== undefined) found.push({ name, settings: new Map() })
    const [, key, value] = setting.exec(line) ?? []
    if (key !== undefined && value !== undefined) found.at(-1)?.settings.set(key, value)
  }
  return found
}

const modes: Readonly<Record<string, { readonly attempts: number; readonly reason: string }>> = {
  standard: {
    attempts: 3,
    reason: "as it is since November 2026; before, the waits of all failures were those of throttling"
  },
  adaptive: {
    attempts: 3,
    reason: "its rate limit on the client's side has no equivalent; the rest is standard mode"
  },
  legacy: { attempts: 5, reason: "differs from SDK to SDK; this is the one of the AWS CLI and of boto3" }
}

const slow = Policy.exponential("1 second")

const standard = Policy.byInput(
  [["throttled", Transience.isThrottled, slow]],
  Policy.exponential("50 millis")
).pipe(Policy.capped("20 seconds"))

const one = ({ name, settings }: Profile): Imported => {
  const mode = settings.get("retry_mode") ?? "standard"
  const known = Object.hasOwn(modes, mode) ? modes[mode] : undefined
  if (known === undefined) throw new Unreadable(`has a retry_mode that is none of ${Object.keys(modes).join(", ")}`)
  const waits = Policy.jittered(mode === "legacy" ? slow : standard)
  const asked = settings.get("max_attempts")
  const unmapped: ReadonlyArray<Unmapped> = [
    { field: "retry_mode", value: mode, reason: known.reason },
    {
      field: "retry quota",
      value: "on",
      reason: "of every client in this mode; in code: a retry budget, which is shared by a client and not in a policy"
    }
  ]
  return {
    at: `[${name}]`,
    policy: Policy.format(
      Policy.attempts(waits, asked === undefined ? known.attempts : number("max_attempts", asked))
    ),
    unmapped: mode === "legacy" ? unmapped.slice(0, 1) : unmapped
  }
}

export const aws: Importer = (text) =>
  reading(() => {
    const found = profiles(text).filter(({ settings }) => settings.has("retry_mode") || settings.has("max_attempts"))
    if (found.length === 0) throw new Unreadable("sets neither retry_mode nor max_attempts")
    return each(found, ({ name }) => `[${name}]`, one)
  })

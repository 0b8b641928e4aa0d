/**
 * The AWS shared config: `retry_mode` and `max_attempts` of each profile. Source: AWS SDKs and Tools Reference Guide,
 * "Retry behavior": the standard mode that is the default since November 2026, and boto/botocore for legacy mode.
 */
import * as Policy from "@reprise/core/Policy"
import * as Transience from "@reprise/core/Transience"
import type { Imported, Importer, Unmapped } from "./Imported.ts"
import { each, number, reading, Unreadable } from "./tree.ts"

interface Setting {
  readonly value: string
  readonly line: number
}

interface Profile {
  readonly name: string
  readonly settings: Map<string, Setting>
  /** The lines that are no setting. */
  readonly others: Array<{ readonly line: number; readonly text: string }>
  /** What other lines set again. */
  readonly twice: Array<Setting & { readonly key: string; readonly again: number }>
}

/** The settings that are read. */
const mapped = ["retry_mode", "max_attempts"]

const header = /^\[\s*(.+?)\s*\]\s*(?:[#;].*)?$/
// A value that is indented belongs to the setting before it.
const setting = /^([\w-]+)\s*=\s*(.*?)\s*(?:\s[#;].*)?$/
const other = /^[^\s#;=][^=]*$/

const take = ({ others, settings, twice }: Profile, text: string, line: number): void => {
  const [, key, value] = setting.exec(text) ?? []
  if (key !== undefined && value !== undefined) {
    const before = settings.get(key)
    if (before !== undefined) twice.push({ ...before, key, again: line })
    settings.set(key, { value, line })
  } else if (other.test(text)) {
    others.push({ line, text })
  }
}

const profiles = (text: string): ReadonlyArray<Profile> => {
  const found: Array<Profile> = []
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const name = header.exec(line)?.[1]
    const profile = found.at(-1)
    if (name !== undefined) found.push({ name, settings: new Map(), others: [], twice: [] })
    else if (profile !== undefined) take(profile, line, index + 1)
  }
  return found
}

const isSet = ({ settings }: Profile): boolean => mapped.some((key) => settings.has(key))

/** Where a setting that is read was meant, and has no `=`. */
const meant = ({ others }: Profile): { readonly key: string; readonly line: number } | undefined =>
  others.flatMap(({ line, text }) => mapped.filter((key) => text.startsWith(key)).map((key) => ({ key, line })))[0]

const refused = "some AWS SDKs refuse the file for that"

/** What not every SDK reads as this does. A line itself is not shown: credentials may stand in such a file. */
const odd = ({ others, twice }: Profile): ReadonlyArray<Unmapped> => [
  ...others.map(({ line }) => ({ field: `line ${line}`, reason: `no setting, as it has no =; ${refused}` })),
  ...twice.map(({ again, key, line, value }) =>
    mapped.includes(key)
      ? { field: key, value, reason: `again in line ${again}, which counts; ${refused}` }
      : { field: `line ${line}`, reason: `${key} again in line ${again}; ${refused}` }
  )
]

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

const one = (profile: Profile): Imported => {
  const { name, settings } = profile
  const broken = isSet(profile) ? undefined : meant(profile)
  if (broken !== undefined) throw new Unreadable(`has no = after ${broken.key}: see line ${broken.line}`)
  const mode = settings.get("retry_mode")?.value ?? "standard"
  const known = Object.hasOwn(modes, mode) ? modes[mode] : undefined
  if (known === undefined) throw new Unreadable(`has a retry_mode that is none of ${Object.keys(modes).join(", ")}`)
  const waits = Policy.jittered(mode === "legacy" ? slow : standard)
  const asked = settings.get("max_attempts")?.value
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
    unmapped: [...mode === "legacy" ? unmapped.slice(0, 1) : unmapped, ...odd(profile)]
  }
}

export const aws: Importer = (text) =>
  reading(() => {
    const found = profiles(text).filter((profile) => isSet(profile) || meant(profile) !== undefined)
    if (found.length === 0) throw new Unreadable("sets neither retry_mode nor max_attempts")
    return each(found, ({ name }) => `[${name}]`, one)
  })

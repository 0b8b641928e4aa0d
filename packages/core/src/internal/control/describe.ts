import type { Entry, State } from "./state.ts"

/** How many entries a line names: a state has room for thousands. */
const most = 10

const switched = (entry: Entry): string | undefined => {
  if (entry.retries === "off" || entry.ratio === 0) return "off"
  return entry.ratio === undefined ? undefined : `at most ${entry.ratio} to a request`
}

const named = (kind: string, entries: { readonly [name: string]: Entry } = {}): ReadonlyArray<string> =>
  Object.entries(entries).flatMap(([name, entry]) => {
    const said = switched(entry)
    return said === undefined ? [] : [`${said} for ${kind} ${JSON.stringify(name)}`]
  })

/** A change as a line of a log. */
export const describe = (state: State, source: string): string => {
  const everything = switched(state)
  const said = [
    ...(everything === undefined ? [] : [`${everything} for everything`]),
    ...named("operation", state.operations),
    ...named("origin", state.origins)
  ]
  const more = said.length > most ? `, and ${said.length - most} more` : ""
  const { at, by, why } = state
  return `Retries switched by ${source}: ${said.length === 0 ? "on" : said.slice(0, most).join(", ")}${more}` +
    `${by === undefined ? "" : `; by ${by}`}${at === undefined ? "" : `; at ${at}`}${
      why === undefined ? "" : `; ${why}`
    }`
}

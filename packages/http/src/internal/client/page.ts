/** Whether this is a page, or a worker of one: there redirects are not shown, and headers need another origin's leave. */

interface Global {
  readonly location?: { readonly origin: string } | undefined
}

// Not there in Node.js, whatever the types of browsers say.
const global: Global = globalThis

export const isPage = (): boolean => global.location !== undefined

/** Whether a page of another origin sends it: the server would have to allow each header by name. */
export const isCrossOrigin = (origin: string): boolean =>
  global.location !== undefined && global.location.origin !== origin

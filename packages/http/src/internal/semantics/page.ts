/** Whether this is a page, or a worker of one: there redirects are not shown, and headers need another origin's leave. */

interface Global {
  readonly location?: { readonly href: string; readonly origin: string } | undefined
  readonly process?: { readonly versions?: { readonly node?: string | undefined } | undefined } | undefined
}

// Either is there in one place and not in another, whatever types say.
const global: Global = globalThis

/**
 * Whether redirects are hidden. Programs that show them say that they are, or are like, Node.js; of a runtime that does
 * not, nothing is taken for granted.
 */
export const isPage = (): boolean => global.location !== undefined || global.process?.versions?.node === undefined

/** Whether a page of another origin sends it: the server would have to allow each header by name. */
export const isCrossOrigin = (origin: string): boolean =>
  global.location !== undefined && global.location.origin !== origin

/** Of what a page's relative URLs are. */
export const baseUrl = (): string | undefined => global.location?.href

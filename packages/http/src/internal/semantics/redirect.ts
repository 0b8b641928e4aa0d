/** Where a redirect leads (RFC 9110, 15.4), and what does not go there (Fetch, "HTTP-redirect fetch"). */

/** As many as fetch follows. */
export const most = 20

const statuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

const ofOrigin: ReadonlyArray<string> = ["authorization", "proxy-authorization", "cookie", "host"]

const ofBody: ReadonlyArray<string> = [
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-type"
]

const becomesGet = (status: number, method: string): boolean =>
  status === 303 ? method !== "GET" && method !== "HEAD" : status < 303 && method === "POST"

/** A redirect that may be followed. */
export interface Way {
  readonly to: URL
  /** Whether it is followed with a GET, without the body. */
  readonly asGet: boolean
  /** Whether it leads to another origin. */
  readonly leaves: boolean
  /** The headers that do not go there. */
  readonly without: ReadonlyArray<string>
}

/** Why a redirect is not followed whose body cannot be sent again. */
export const spentBody = "redirect of a body that can be read once"

/** Why no more redirects are followed. */
export const tooMany = (most: number): string => `more than ${most} redirects`

/**
 * Where a response leads; undefined where it leads nowhere, and a text that says why it is not followed. `from` is
 * where it comes from, and `ours` are the headers that are for the first origin only.
 */
export const wayOf = (
  response: { readonly status: number; readonly location: string | null | undefined },
  request: { readonly method: string; readonly from: () => URL | undefined },
  ours: ReadonlyArray<string>
): Way | string | undefined => {
  const { location, status } = response
  if (location === null || location === undefined || !statuses.has(status)) return undefined
  const from = request.from()
  if (from === undefined) return "redirect from what is no URL"
  if (!URL.canParse(location, from)) return "redirect to what is no URL"
  const to = new URL(location, from)
  if (to.protocol !== "http:" && to.protocol !== "https:") return `redirect to a URL of ${to.protocol}`
  if (to.username !== "" || to.password !== "") return "redirect to a URL with credentials"
  // RFC 9110, 10.2.2.
  if (to.hash === "") to.hash = from.hash
  const asGet = becomesGet(status, request.method)
  const leaves = to.origin !== from.origin
  return { to, asGet, leaves, without: [...(asGet ? ofBody : []), ...(leaves ? [...ofOrigin, ...ours] : [])] }
}

/** What kinds of bodies are looked at. */

const textual = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml)\b|application\/x-www-form-urlencoded\b)/i

/** Whether a person can read it; what says nothing of itself is a text. */
export const isText = (type: string | null | undefined): boolean => textual.test(type ?? "text/plain")

export const isJson = (type: string | null | undefined): boolean => /\bjson\b/i.test(type ?? "")

/** Longer than any error that says something, and not as long as a server likes. */
export const mostJsonBytes = 65_536

/** JSON in bytes; undefined where it is none. */
export const parseJson = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

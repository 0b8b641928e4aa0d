import { plain } from "./hidden.ts"

const longestText = 200

/** One line, of bounded length, without half a character at its end. */
export const oneLine = (text: string): string => {
  const line = text.length > longestText ? `${text.slice(0, longestText).replace(/[\uD800-\uDBFF]$/, "")}…` : text
  // Line breaks would forge lines of a log, and what else is hidden its colours or its direction.
  return plain(line.replace(/\s*[\r\n\p{Zl}\p{Zp}]+\s*/gu, " "))
}

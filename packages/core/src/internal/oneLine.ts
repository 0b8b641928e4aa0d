const longestText = 200

const controls = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu

/** One line, of bounded length, without half a character at its end. */
export const oneLine = (text: string): string => {
  const line = text.length > longestText ? `${text.slice(0, longestText).replace(/[\uD800-\uDBFF]$/, "")}…` : text
  // Line breaks would forge lines of a log, and control characters its colours or its direction.
  return line.replace(/\s*[\r\n\u2028\u2029]+\s*/g, " ").replace(controls, "")
}

/**
 * What is no part of a line in a log, or makes it look like another one: controls such as a line break or a terminal's
 * escape, separators of lines, and what turns the direction of a text.
 */
const hidden = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

export const isLine = (text: string): boolean => text.search(hidden) < 0

/** A text without what is hidden in it. */
export const plain = (text: string): string => text.replace(hidden, "")

const escape = (unit: string): string => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/** A text with escapes for what is hidden in it, and for what has no width, such as the mark that begins some files. */
export const spelled = (text: string): string => {
  const unseen = new RegExp(`${hidden.source}|\\p{Cf}`, "gu")
  return text.replace(unseen, (character) => character.split("").map(escape).join(""))
}

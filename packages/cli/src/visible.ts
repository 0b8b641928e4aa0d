/**
 * Text from outside, as it may be shown: what a terminal would obey is spelled out.
 */

/** Control characters, and what turns the direction of a line. */
const unseen = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

const spelled = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** A text as part of a line. */
export const inLine = (text: string): string => text.replaceAll(unseen, spelled)

/** A text of several lines. */
export const inLines = (text: string): string =>
  text.replaceAll(unseen, (_) => _ === "\n" || _ === "\t" ? _ : spelled(_))

/**
 * Text from outside, as it may be shown: what a terminal would obey is spelled out.
 */

/** Controls, separators of lines and what turns the direction: as core has it in `hidden.ts`, which nobody may import. */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu

const spelled = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** A text as part of a line. */
export const inLine = (text: string): string => text.replaceAll(unseen, spelled)

/** A text of several lines. */
export const inLines = (text: string): string =>
  text.replaceAll(unseen, (_) => _ === "\n" || _ === "\t" ? _ : spelled(_))

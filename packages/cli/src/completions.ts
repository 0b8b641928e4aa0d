/**
 * `--completions`, with what Effect 4.1 writes for zsh put right.
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Completions from "effect/cli/Completions"
import * as GlobalFlag from "effect/cli/GlobalFlag"

/** An argument of which zsh knows nothing but a description: `':The file:'`, or `'*:The files:'`. */
const inactive = /^( *'\*?:)((?:\\.|[^\\:\n])*):'$/gm

/**
 * Makes zsh complete flags where an argument may stand as well.
 *
 * Effect 4.1 gives an argument without choices no action. There zsh shows its description, and as it does so before it
 * has found a flag, it takes the word to be one that it cannot know: `--wi` and Tab lists `--within`, and types nothing.
 * zsh's own functions guard such an argument from words that begin with a dash, and so does this.
 */
const guarded = (script: string): string =>
  script.replaceAll(
    inactive,
    (_, start: string, description: string) =>
      `${start}${description}:_guard "^-*" "${description.replaceAll(/["$`]/g, "\\$&")}"'`
  )

/** The global flag that takes the place of Effect's own. */
export const flag: typeof GlobalFlag.Completions = {
  ...GlobalFlag.Completions,
  run: (shell, { command }) => {
    if (Option.isNone(shell)) return Effect.void
    const script = Completions.generate(command.name, shell.value, Completions.fromCommand(command))
    return Console.log(shell.value === "zsh" ? guarded(script) : script)
  }
}

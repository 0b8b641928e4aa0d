import { describe, expect, it } from "@effect/vitest"
import { RetryControl, RetryLayers } from "@reprise/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** Every character but the halves of pairs. None past U+FFFF is a control, ends a line or turns its direction. */
const characters = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code)).filter((character) =>
  character.isWellFormed()
)

const isHidden = (character: string): boolean => /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u.test(character)

/** The characters at which something happens to a text: asked for many at once, as nothing happens at most. */
const those = (happens: (text: string) => boolean): ReadonlyArray<string> => {
  const among = (some: ReadonlyArray<string>): ReadonlyArray<string> =>
    !happens(`x${some.join("x")}x`)
      ? []
      : some.length === 1
      ? some
      : [...among(some.slice(0, some.length / 2)), ...among(some.slice(some.length / 2))]
  return Array.from(
    { length: characters.length / 64 },
    (_, index) => among(characters.slice(index * 64, index * 64 + 64))
  ).flat()
}

const hidden = characters.filter(isHidden)

describe("hidden characters", () => {
  it("are the controls, the separators of lines and what turns the direction", () => {
    expect(hidden.length).toBe(65 + 2 + 12)
  })

  it("are left out of a line, and nothing else is", () => {
    const shown = (name: string) =>
      Effect.runSync(RetryLayers.declare(RetryLayers.current, { name, attempts: 2 }))[0]!.name
    expect(those((text) => shown(text) !== text)).toEqual(hidden)
  })

  it("are refused in a line of the switch, and nothing else is", () => {
    expect(those((text) => Result.isFailure(RetryControl.parse(JSON.stringify({ by: text }))))).toEqual(hidden)
  })
})

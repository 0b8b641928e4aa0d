import * as RetryControl from "@reprise/core/RetryControl"
import * as Result from "effect/Result"
import { expect, it } from "vitest"
import { reprise } from "./reprise.ts"

it("spells out the same characters that core takes for hidden, and no others", async () => {
  // No argument holds a zero, and none all the others.
  const characters = Array.from({ length: 0x3000 }, (_, index) => String.fromCharCode(index + 1))
  const { stdout } = await reprise([
    "run",
    "--policy",
    "immediate(1)",
    "--dry-run",
    "--",
    "true",
    characters.join("x")
  ])
  const line = stdout.split("\n")[0]!
  const spelled = characters.filter((character) =>
    line.includes(`\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)
  )
  const hidden = characters.filter((character) =>
    Result.isFailure(RetryControl.parse(JSON.stringify({ by: character })))
  )
  expect(hidden).toHaveLength(64 + 2 + 12)
  expect(spelled).toEqual(hidden)
})

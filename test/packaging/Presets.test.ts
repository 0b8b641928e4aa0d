import * as esbuild from "esbuild"
import { describe, expect, it } from "vitest"

const bundle = async (contents: string): Promise<string> => {
  const { outputFiles } = await esbuild.build({
    stdin: { contents, resolveDir: "." },
    bundle: true,
    write: false,
    format: "esm",
    external: ["effect"]
  })
  return outputFiles.map(({ text }) => text).join("\n")
}

describe("a program that names one preset", () => {
  it("has no other in its bundle", async () => {
    const text = await bundle(`import { temporal } from "@reprise/core/Presets"\nconsole.log(temporal)`)
    expect(text).toContain(`"100 seconds"`)
    for (const other of [`"6 minutes"`, `"250 millis"`, "temporalio/temporal", "ECONNREFUSED"]) {
      expect(text).not.toContain(other)
    }
  })

  it("and one that names none has none, and no schema of specs", async () => {
    const text = await bundle(`import { Policy } from "@reprise/core"\nconsole.log(Policy.none)`)
    for (const absent of [`"100 seconds"`, `"6 minutes"`, "temporalio/temporal", "Waits that grow by a factor"]) {
      expect(text).not.toContain(absent)
    }
  })
})

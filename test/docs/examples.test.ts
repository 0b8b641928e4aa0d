import { globSync, readFileSync } from "node:fs"
import { beforeAll, describe, expect, it } from "vitest"
import { type Block, find } from "./blocks.ts"
import { verify } from "./verify.ts"

const documents = [
  ...["README.md", "CONTRIBUTING.md"].flatMap((path) => globSync(path)),
  ...globSync("docs/*.md"),
  ...globSync("packages/*/README.md"),
  ...globSync("packages/*/src/**/*.ts")
]
const found = documents.map((path) => find(path, readFileSync(path, "utf8")))
const blocks = found.flatMap(({ blocks }) => blocks).filter(({ language, run }) => language === "ts" || run)

describe("the documents", () => {
  let problems: ReadonlyMap<Block, ReadonlyArray<string>>
  beforeAll(async () => {
    problems = await verify(blocks)
  })

  it("are well formed", () => {
    expect(found.flatMap(({ problems }) => problems)).toEqual([])
  })

  for (const block of blocks) {
    it(`${block.file}:${block.line}`, () => {
      expect(problems.get(block)).toEqual([])
    })
  }
})

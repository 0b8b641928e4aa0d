import { beforeAll, describe, expect, it } from "vitest"
import { find } from "./blocks.ts"
import { verify } from "./verify.ts"

const fence = (info: string, ...code: ReadonlyArray<string>) => ["```" + info, ...code, "```"]
const markdown = (...lines: ReadonlyArray<string>) => find("SOME.md", lines.join("\n"))

const documents = {
  right: markdown(...fence("ts", "console.log({ a: 1 }, 2) // => { a: 1 } 2", "console.log(`x`)", "// => x")),
  wrongOutput: markdown("Text", "", ...fence("ts", "const n = 1", "console.log(n + 1) // => 3")),
  silent: markdown(...fence("ts", "console.log(1) // => 1", "// => 2")),
  talkative: markdown(...fence("ts", "console.log(1) // => 1", "console.log(2)")),
  wrongType: markdown(...fence("ts", "", "const n: number = \"one\"")),
  wrongTypeUnrun: markdown(...fence("ts no-run it would wait for ever", "const n: string = 1")),
  throws: markdown(...fence("ts", "", "throw new Error(\"boom\")")),
  rejectsLater: markdown(...fence("ts", "setTimeout(() => { throw new Error(\"late\") }, 5)")),
  printsLater: markdown(...fence("ts", "setTimeout(() => console.log(\"late\"), 20) // => late")),
  anything: markdown(...fence("ts", "console.log(`took ${performance.now()} ms`) // => took … ms")),
  exits: markdown(...fence("ts", "process.exit(0)")),
  comment: find(
    "src/Some.ts",
    ["/**", " * Text", " *", " * @example", " * ```ts", " * console.log(1) // => 2", " * ```", " */", "export {}"].join(
      "\n"
    )
  ),
  command: markdown("<!-- run -->", ...fence("sh", "$ echo one; echo two", "one", "…", "$ echo three", "four")),
  failingCommand: markdown("<!-- run -->", "", ...fence("sh", "$ exit 3")),
  unmarkedCommand: markdown(...fence("sh", "$ exit 3"))
}

describe("verify", () => {
  const problems: Record<string, ReadonlyArray<string>> = {}
  beforeAll(async () => {
    // One process for each, since one of them ends its own.
    await Promise.all(
      Object.entries(documents).map(async ([name, { blocks }], index) => {
        const moved = blocks.map((block) => ({ ...block, file: block.file.replace("S", `${index}S`) }))
        const checked = [...(await verify(moved)).values()].flat()
        problems[name] = checked.map((problem) => problem.replace(`${index}S`, "S"))
      })
    )
  })

  it.for(
    [
      ["right", []],
      ["wrongOutput", ["SOME.md:5: shows \"3\", printed \"2\""]],
      ["silent", ["SOME.md:3: shows \"2\", printed nothing"]],
      ["talkative", ["SOME.md:2: then printed \"2\", not shown"]],
      ["wrongType", ["SOME.md:3: error TS2322: Type 'string' is not assignable to type 'number'."]],
      ["wrongTypeUnrun", ["SOME.md:2: error TS2322: Type 'number' is not assignable to type 'string'."]],
      ["printsLater", []],
      ["anything", []],
      ["exits", ["SOME.md:2: ended the process"]],
      ["comment", ["src/Some.ts:6: shows \"2\", printed \"1\""]],
      ["command", ["SOME.md:7: shows \"four\", printed \"three\""]],
      ["failingCommand", ["SOME.md:4: exit code 3\n"]],
      ["unmarkedCommand", []]
    ] as const
  )("%s", ([name, expected]) => {
    expect(problems[name]).toEqual(expected)
  })

  it.for([["throws", "SOME.md:3: Error: boom"], ["rejectsLater", "SOME.md:2: Error: late"]] as const)(
    "%s",
    ([name, start]) => {
      expect(problems[name]).toHaveLength(1)
      expect(problems[name]?.[0]).toMatch(new RegExp(`^${start}`))
    }
  )

  it("finds what would go unchecked", () => {
    expect(find("src/Some.ts", "/**\n * @example\n * none\n * @since 1\n */").problems).toEqual([
      "src/Some.ts:2: an @example without a ts block cannot be checked"
    ])
    expect(markdown(...fence("ts no-run", "x")).problems).toEqual(["SOME.md:1: no-run wants a reason"])
    expect(markdown(...fence("typescript", "x")).problems).toEqual([
      "SOME.md:1: only a block named ts is checked, not typescript"
    ])
    expect(markdown("", "```ts", "x").problems).toEqual(["SOME.md:2: this block has no end"])
  })
})

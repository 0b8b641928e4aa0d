/** The examples of a document: fenced blocks of Markdown, or of the doc comments of a source file. */
export interface Block {
  readonly language: "ts" | "sh"
  readonly file: string
  /** Of the first line of code, counted from 1. */
  readonly line: number
  readonly code: ReadonlyArray<string>
  readonly run: boolean
}

export interface Found {
  readonly blocks: ReadonlyArray<Block>
  /** What is wrong with the document itself, each with its place. */
  readonly problems: ReadonlyArray<string>
}

/** The text of each line that stands in a doc comment, `undefined` for code. */
const commentLines = (lines: ReadonlyArray<string>): ReadonlyArray<string | undefined> => {
  let inside = false
  return lines.map((line) => {
    if (!inside) {
      inside = /^\s*\/\*\*/.test(line) && !line.includes("*/")
      return undefined
    }
    inside = !line.includes("*/")
    return inside ? line.replace(/^\s*\* ?/, "") : undefined
  })
}

const scan = (file: string, lines: ReadonlyArray<string | undefined>): Found => {
  const blocks: Array<Block> = []
  const problems: Array<string> = []
  let open:
    | { readonly info: string; readonly indent: number; readonly line: number; readonly marked: boolean }
    | undefined
  let example: number | undefined
  let before = ""

  const close = (end: number) => {
    if (open === undefined) return
    const { indent, info, line, marked } = open
    open = undefined
    const [language, ...flags] = info.split(/\s+/)
    if (/^(?:typescript|tsx|jsx?|javascript)$/.test(language ?? "")) {
      problems.push(`${file}:${line - 1}: only a block named ts is checked, not ${language}`)
    }
    if (language !== "ts" && language !== "sh") return
    if (flags[0] === "no-run" && flags.length === 1) problems.push(`${file}:${line - 1}: no-run wants a reason`)
    const code = lines.slice(line - 1, end).map((text) => text?.slice(Math.min(indent, text.search(/\S|$/))) ?? "")
    const run = language === "ts" ? flags[0] !== "no-run" : marked
    blocks.push({ language, file, line, code, run })
  }

  const endExample = () => {
    if (example !== undefined) problems.push(`${file}:${example}: an @example without a ts block cannot be checked`)
    example = undefined
  }

  lines.forEach((text, index) => {
    const fence = /^(\s*)```(.*)$/.exec(text ?? "")
    if (open !== undefined) {
      if (fence !== null || text === undefined) close(index)
      return
    }
    if (fence !== null) {
      open = {
        info: (fence[2] ?? "").trim(),
        indent: (fence[1] ?? "").length,
        line: index + 2,
        marked: before === "<!-- run -->"
      }
      if (open.info.startsWith("ts")) example = undefined
    } else if (text === undefined || /^\s*@\w/.test(text)) {
      endExample()
      if (text?.trimStart().startsWith("@example")) example = index + 1
    }
    if (text !== undefined && text.trim() !== "") before = text.trim()
  })
  if (open !== undefined) problems.push(`${file}:${open.line - 1}: this block has no end`)
  return { blocks, problems }
}

/** Finds the examples of one document. */
export const find = (file: string, text: string): Found => {
  const lines = text.split("\n")
  return scan(file, file.endsWith(".ts") ? commentLines(lines) : lines)
}

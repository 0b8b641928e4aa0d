/**
 * What `JSON.parse` says only sometimes or not at all: where a text stops being JSON, without quoting the text, and
 * which key it has twice.
 */

const space = /[ \t\n\r]*/y
const text = /"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy
const scalar = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y

/** Where the match of a sticky expression at a position ends, or `undefined`. */
const end = (expression: RegExp, json: string, position: number): number | undefined => {
  expression.lastIndex = position
  return expression.test(json) ? expression.lastIndex : undefined
}

type Expected = "value" | "value or end" | "key" | "key or end" | "colon" | "comma or end" | "nothing"

/** The position of the first piece that cannot stand where it does. */
const firstWrong = (json: string): number => {
  const open: Array<string> = []
  let expected: Expected = "value"
  for (let position = 0;;) {
    position = end(space, json, position)!
    const character = json[position]
    const ends = expected === "comma or end" || expected === "key or end" || expected === "value or end"
    let after: number | undefined
    if (ends && character === open.at(-1)) {
      open.pop()
      after = position + 1
      expected = open.length === 0 ? "nothing" : "comma or end"
    } else if (expected === "value" || expected === "value or end") {
      if (character === "{" || character === "[") {
        open.push(character === "{" ? "}" : "]")
        after = position + 1
        expected = character === "{" ? "key or end" : "value or end"
      } else {
        after = end(text, json, position) ?? end(scalar, json, position)
        expected = open.length === 0 ? "nothing" : "comma or end"
      }
    } else if (expected === "key" || expected === "key or end") {
      after = end(text, json, position)
      expected = "colon"
    } else if (expected === "colon" && character === ":") {
      after = position + 1
      expected = "value"
    } else if (expected === "comma or end" && character === ",") {
      after = position + 1
      expected = open.at(-1) === "}" ? "key" : "value"
    }
    if (after === undefined) return position
    position = after
  }
}

export interface Wrong {
  readonly line: number
  readonly column: number
  /** What stands there: no more of it than is needed to find it. */
  readonly piece: string
}

/** Where a text that is not JSON goes wrong. */
export const wrong = (json: string): Wrong => {
  const position = firstWrong(json)
  const lines = json.slice(0, position).split("\n")
  return {
    line: lines.length,
    column: lines.at(-1)!.length + 1,
    piece: position === json.length ? "the end of the text" : /^(?:\w{1,12}|.)/su.exec(json.slice(position))![0]
  }
}

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/gs

/**
 * The path of the first key that an object has twice, of a text that is JSON. `JSON.parse` keeps the last of them, and
 * who reads the text may see the first. No deeper than `depth` objects: what is inside of them nobody reads.
 */
export const twice = (json: string, depth: number): ReadonlyArray<string> | undefined => {
  const open: Array<{ readonly keys: Set<string>; key: string }> = []
  let last = ""
  for (const [piece] of json.matchAll(token)) {
    if (piece === "{" || piece === "[") open.push({ keys: new Set(), key: "" })
    else if (piece === "}" || piece === "]") open.pop()
    else if (piece !== ":") last = piece
    else if (open.length <= depth) {
      const key: string = JSON.parse(last)
      const inner = open.at(-1)!
      inner.key = key
      if (inner.keys.has(key)) return open.map((_) => _.key)
      inner.keys.add(key)
    }
  }
  return undefined
}

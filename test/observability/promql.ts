/** As much of PromQL as it takes to know what a query reads. */

interface Matcher {
  readonly label: string
  readonly operator: string
  readonly value: string
}

interface Selector {
  readonly metric: string
  readonly matchers: ReadonlyArray<Matcher>
}

export interface Query {
  readonly selectors: ReadonlyArray<Selector>
  /** The labels of `by`, `without`, `on` and `ignoring`. */
  readonly grouping: ReadonlyArray<string>
  readonly functions: ReadonlyArray<string>
}

const token =
  /\s*(?:(?<string>"(?:[^"\\]|\\.)*")|(?<duration>(?:\d+(?:ms|[smhdwy]))+|\$\w+)|(?<number>\d+(?:\.\d+)?)|(?<name>[A-Za-z_:][\w:]*)|(?<symbol>=~|!~|!=|==|>=|<=|[-+*/%^(){}[\],=<>]))/y

type Kind = "string" | "duration" | "number" | "name" | "symbol"

interface Token {
  readonly kind: Kind
  readonly text: string
}

const tokens = (text: string): ReadonlyArray<Token> => {
  const found: Array<Token> = []
  const source = text.trim()
  token.lastIndex = 0
  while (token.lastIndex < source.length) {
    const at = token.lastIndex
    const groups = token.exec(source)?.groups
    if (groups === undefined) throw new Error(`Not PromQL at ${at}: ${source.slice(at, at + 20)}`)
    for (const [kind, match] of Object.entries(groups)) {
      if (match !== undefined) found.push({ kind: kind as Kind, text: match }) // The names of the groups above.
    }
  }
  return found
}

const groupings = ["by", "without", "on", "ignoring"]
const operators = ["and", "or", "unless", "bool"]
const closing: Readonly<Record<string, string>> = { "(": ")", "{": "}", "[": "]" }

/** Reads a query, and fails where it makes no sense. */
export const parse = (text: string): Query => {
  const all = tokens(text)
  const selectors: Array<Selector> = []
  const grouping: Array<string> = []
  const functions: Array<string> = []
  const open: Array<string> = []
  let at = 0
  const next = (kind: Kind, what?: string): string => {
    const found = all[at++]
    if (found?.kind !== kind || (what !== undefined && found.text !== what)) {
      throw new Error(`${what ?? kind} expected, got ${found?.text ?? "the end"} in ${text}`)
    }
    return found.text
  }
  const is = (symbol: string, ahead = 0) => all[at + ahead]?.text === symbol

  const labels = () => {
    next("symbol", "(")
    while (!is(")")) {
      grouping.push(next("name"))
      if (!is(")")) next("symbol", ",")
    }
    next("symbol", ")")
  }
  const matchers = (): ReadonlyArray<Matcher> => {
    const found: Array<Matcher> = []
    if (!is("{")) return found
    next("symbol", "{")
    while (!is("}")) {
      found.push({ label: next("name"), operator: next("symbol"), value: next("string").slice(1, -1) })
      if (!is("}")) next("symbol", ",")
    }
    next("symbol", "}")
    return found
  }
  const name = () => {
    const word = next("name")
    if (operators.includes(word)) return
    if (groupings.includes(word)) return labels()
    if (is("(") || (is("by") && is("(", 1)) || (is("without") && is("(", 1))) return void functions.push(word)
    selectors.push({ metric: word, matchers: matchers() })
    if (!is("[")) return
    next("symbol", "[")
    next("duration")
    next("symbol", "]")
  }

  while (at < all.length) {
    const { kind, text: word } = all[at]!
    if (kind === "name") {
      name()
      continue
    }
    at++
    if (closing[word] !== undefined) open.push(closing[word])
    if (Object.values(closing).includes(word) && open.pop() !== word) throw new Error(`Not balanced: ${text}`)
  }
  if (open.length > 0) throw new Error(`Not balanced: ${text}`)
  return { selectors, grouping, functions }
}

/**
 * The reader of the notation: from a text to a policy, by the constructors that it is given.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { Problem } from "../../InvalidNotation.ts"
import type { InvalidPolicy } from "../../InvalidPolicy.ts"
import type * as policyModule from "../../Policy.ts"
import { nearest } from "./nearest.ts"
import { next, show, Stopped, type Token } from "./tokens.ts"

/** The constructors, which the module that has them hands in: it imports this one. */
export type Builders = Pick<
  typeof policyModule,
  | "attempts"
  | "byInput"
  | "capped"
  | "concat"
  | "constant"
  | "decorrelated"
  | "delays"
  | "exponential"
  | "fibonacci"
  | "honoringRetryAfter"
  | "immediate"
  | "jitteredWith"
  | "linear"
  | "max"
  | "min"
  | "none"
  | "polynomial"
  | "recurs"
  | "unlimited"
  | "untilInput"
  | "whileInput"
  | "whileTag"
  | "within"
>

type Any = policyModule.Any
type Test = (input: never) => boolean

export type Predicates = Readonly<Record<string, Test>>

/** The text, how far it is read, and what its names mean. */
interface Reader {
  readonly text: string
  readonly policies: Builders
  readonly predicates: Predicates
  token: Token
  /** How many groups are open. */
  depth: number
}

const advance = (reader: Reader): Token => {
  const { token } = reader
  reader.token = next(reader.text, token.end)
  return token
}

const fail = (token: Token, problem: string, suggestion?: string): never => {
  throw new Stopped(token.start, problem, suggestion)
}

const isMark = (token: Token, mark: string): boolean => token.kind === "mark" && token.value === mark

const expectMark = (reader: Reader, mark: string): void => {
  if (!isMark(reader.token, mark)) fail(reader.token, `expected "${mark}" here, found ${show(reader.token)}`)
  advance(reader)
}

/** Runs a constructor; what it refuses is a problem of the place where its word stands. */
const build = <A>(token: Token, make: () => A): A => {
  try {
    return make()
  } catch (error) {
    // The constructors throw nothing else.
    const { argument, rule } = error as InvalidPolicy
    if (!Predicate.isTagged(error, "InvalidPolicy")) throw error
    return fail(token, `${argument} must be ${rule}`)
  }
}

const millis: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  nano: 1e-6,
  micro: 1e-3,
  milli: 1,
  sec: 1_000,
  min: 60_000,
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000
}

const unitOf = (word: string): number | undefined => {
  const singular = word.length > 2 && word.endsWith("s") ? word.slice(0, -1) : word
  return Object.hasOwn(millis, singular) ? millis[singular] : undefined
}

const number = (reader: Reader): number => {
  const token = advance(reader)
  return token.kind === "number" ? Number(token.value) : fail(token, `expected a number here, found ${show(token)}`)
}

const duration = (reader: Reader): number => {
  const { token } = reader
  if (token.kind !== "number") fail(token, `expected a duration such as 500ms here, found ${show(token)}`)
  const amount = number(reader)
  const unit = advance(reader)
  const size = unit.kind === "word" ? unitOf(unit.value) : undefined
  if (size === undefined) {
    const meant = unit.kind === "word" ? nearest(unit.value, Object.keys(millis)) : undefined
    return fail(unit, `expected a unit here (ns, us, ms, s, m, h or d), found ${show(unit)}`, meant)
  }
  // Below a millisecond a division is exact where the multiplication is not.
  return size < 1 ? amount / Math.round(1 / size) : amount * size
}

const name = (reader: Reader): Token => {
  const token = advance(reader)
  return token.kind === "word" || token.kind === "text"
    ? token
    : fail(token, `expected a name here, found ${show(token)}`)
}

/** One or more, separated by commas. */
const list = <A>(reader: Reader, item: (reader: Reader) => A): Array<A> => {
  const items = [item(reader)]
  while (isMark(reader.token, ",")) {
    advance(reader)
    items.push(item(reader))
  }
  return items
}

/** The arguments of a word, in brackets: as many as wanted, the last ones optional. */
const args = <A>(reader: Reader, item: (reader: Reader) => A, least: number, most: number): Array<A> => {
  expectMark(reader, "(")
  const first = reader.token
  const items = list(reader, item)
  if (items.length < least || items.length > most) {
    fail(first, `expected ${least === most ? "" : `${least} to `}${most} of these, found ${items.length}`)
  }
  expectMark(reader, ")")
  return items
}

const longestList = 10_000

const one = <A>(reader: Reader, item: (reader: Reader) => A): A => args(reader, item, 1, 1)[0]!

const named = (reader: Reader, token: Token): Test => {
  const { start, value } = token
  if (Object.hasOwn(reader.predicates, value)) return reader.predicates[value]!
  const known = Object.keys(reader.predicates)
  throw new Stopped(
    start,
    `no predicate is called ${show(token)}; ${
      known.length === 0 ? "none is known here" : `known are ${known.join(", ")}`
    }`,
    nearest(value, known)
  )
}

const meant = <A>(token: Token, words: Readonly<Record<string, A>>, what: string): A => {
  if (token.kind === "word" && Object.hasOwn(words, token.value)) return words[token.value]!
  const known = Object.keys(words)
  return token.kind === "word"
    ? fail(token, `${show(token)} is no ${what}; known are ${known.join(", ")}`, nearest(token.value, known))
    : fail(token, `expected a ${what} here, found ${show(token)}`)
}

const deepest = 1_000

/** What stands between the brackets of a combination, separated by semicolons. */
const group = <A>(reader: Reader, token: Token, member: (reader: Reader) => A): Array<A> => {
  if (++reader.depth > deepest) fail(token, `groups are nested at most ${deepest} deep`)
  expectMark(reader, "(")
  const members = [member(reader)]
  while (isMark(reader.token, ";")) {
    advance(reader)
    members.push(member(reader))
  }
  expectMark(reader, ")")
  reader.depth--
  return members
}

type Branch = { readonly name: Token; readonly policy: Any }

const branch = (reader: Reader): Branch => {
  const label = name(reader)
  expectMark(reader, ":")
  return { name: label, policy: policy(reader) }
}

const byInput = (reader: Reader, token: Token): Any => {
  const branches = group(reader, token, branch)
  const last = branches.pop()!
  if (last.name.value !== "otherwise") fail(last.name, `the last branch is called "otherwise"`)
  return reader.policies.byInput(
    branches.map(({ name, policy }) => [name.value, named(reader, name), policy] as const) as never,
    last.policy
  )
}

/** What may stand by its name in a polynomial. */
const settings: Readonly<Record<"start" | "offset" | "spread", (reader: Reader) => number>> = {
  start: number,
  offset: duration,
  spread: duration
}

const polynomial = (reader: Reader): Any => {
  expectMark(reader, "(")
  const base = duration(reader)
  let exponent: number | undefined
  const found: Partial<Record<string, number>> = {}
  while (isMark(reader.token, ",")) {
    advance(reader)
    if (reader.token.kind === "number" && exponent === undefined && Object.keys(found).length === 0) {
      exponent = number(reader)
      continue
    }
    const label = advance(reader)
    const setting = meant(label, settings, "setting of a polynomial")
    if (Object.hasOwn(found, label.value)) fail(label, `${label.value} is given twice`)
    expectMark(reader, ":")
    found[label.value] = setting(reader)
  }
  expectMark(reader, ")")
  return reader.policies.polynomial(base, exponent, found)
}

type Word = (reader: Reader, token: Token) => Any

const starts: Readonly<Record<string, Word>> = {
  exponential: (reader) => {
    expectMark(reader, "(")
    const base = duration(reader)
    let factor: number | undefined
    if (isMark(reader.token, ",")) {
      advance(reader)
      factor = number(reader)
    }
    expectMark(reader, ")")
    return reader.policies.exponential(base, factor)
  },
  linear: (reader) => {
    const [base, increment] = args(reader, duration, 1, 2)
    return reader.policies.linear(base!, increment)
  },
  fibonacci: (reader) => reader.policies.fibonacci(one(reader, duration)),
  polynomial,
  constant: (reader) => reader.policies.constant(one(reader, duration)),
  decorrelated: (reader) => {
    const [base, cap] = args(reader, duration, 2, 2)
    return reader.policies.decorrelated({ base: base!, cap: cap! })
  },
  delays: (reader) => reader.policies.delays(args(reader, duration, 1, longestList)),
  immediate: (reader) => reader.policies.immediate(one(reader, number)),
  none: (reader) => reader.policies.none,
  concat: (reader, token) => {
    const members = group(reader, token, policy)
    if (members.length < 2) fail(token, "concat joins two policies or more")
    return members.reduceRight((later, earlier) => reader.policies.concat(earlier, later))
  },
  max: (reader, token) => reader.policies.max(group(reader, token, policy) as never),
  min: (reader, token) => reader.policies.min(group(reader, token, policy) as never),
  by: byInput
}

type Stage = (reader: Reader, self: Any) => Any

const jitter: Stage = (reader, self) => {
  const { policies } = reader
  if (!isMark(reader.token, "(")) return policies.jitteredWith(self, "full")
  advance(reader)
  const { token } = reader
  if (token.kind === "word") {
    advance(reader)
    expectMark(reader, ")")
    if (token.value !== "equal" && token.value !== "full") {
      return fail(token, "a jitter is full, equal or two factors", nearest(token.value, ["full", "equal"]))
    }
    return policies.jitteredWith(self, token.value)
  }
  const min = number(reader)
  expectMark(reader, ",")
  const max = number(reader)
  expectMark(reader, ")")
  return policies.jitteredWith(self, { min, max })
}

const stages: Readonly<Record<string, Stage>> = {
  jitter,
  cap: (reader, self) => reader.policies.capped(self, one(reader, duration)),
  attempts: (reader, self) => reader.policies.attempts(self, one(reader, number)),
  recurs: (reader, self) => reader.policies.recurs(self, one(reader, number)),
  within: (reader, self) => reader.policies.within(self, one(reader, duration)),
  while: (reader, self) => {
    const label = one(reader, name)
    return reader.policies.whileInput(self, named(reader, label), label.value)
  },
  until: (reader, self) => {
    const label = one(reader, name)
    return reader.policies.untilInput(self, named(reader, label), label.value)
  },
  whileTag: (reader, self) => {
    const [first, ...rest] = args(reader, name, 1, longestList)
    return reader.policies.whileTag(first!.value, ...rest.map((_) => _.value))(self)
  },
  retryAfter: (reader, self) =>
    reader.policies.honoringRetryAfter(self, isMark(reader.token, "(") ? { max: one(reader, duration) } : {}),
  unlimited: (reader, self) => reader.policies.unlimited(self)
}

const policy = (reader: Reader): Any => {
  const head = advance(reader)
  const start = meant(head, starts, "start of a policy")
  let self = build(head, () => start(reader, head))
  while (isMark(reader.token, "|")) {
    advance(reader)
    const word = advance(reader)
    const stage = meant(word, stages, "part of a policy")
    const before = self
    self = build(word, () => stage(reader, before))
  }
  return self
}

/** Reads a policy, or says where the text is none. */
export const parse = (text: string, predicates: Predicates, policies: Builders): Result.Result<Any, Problem> => {
  try {
    const reader: Reader = { text, policies, predicates, token: next(text, 0), depth: 0 }
    const parsed = policy(reader)
    if (reader.token.kind !== "end") fail(reader.token, `expected "|" or the end here, found ${show(reader.token)}`)
    return Result.succeed(parsed)
  } catch (error) {
    if (error instanceof Stopped) return Result.fail(error.problem)
    throw error
  }
}

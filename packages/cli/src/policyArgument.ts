/**
 * A policy as a command line gives it: inline, or as the place where it is written.
 */
import * as Policy from "@reprise/core/Policy"
import * as Transience from "@reprise/core/Transience"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Argument from "effect/cli/Argument"
import { type Ending, refuse } from "./Ending.ts"
import { readText } from "./readText.ts"
import { inLine } from "./visible.ts"

/** The predicates that a policy may name: Transience's own, also by the names that their functions have in code. */
const predicates: Readonly<Record<string, (error: unknown) => boolean>> = {
  transient: Transience.isTransient,
  terminal: Transience.isTerminal,
  unknown: Transience.isUnknown,
  throttled: Transience.isThrottled,
  notApplied: Transience.notApplied,
  isTransient: Transience.isTransient,
  isTerminal: Transience.isTerminal,
  isUnknown: Transience.isUnknown,
  isThrottled: Transience.isThrottled
}

type Resolved = Policy.Policy<unknown>

const inline = (text: string): Result.Result<Resolved, Ending> =>
  Result.mapError(Policy.parse(text, { predicates }), (error) => refuse(`this is no policy.\n${error.message}`))

/** The place in a text of several lines, both counted from 1. */
const placeOf = (text: string, column: number): string => {
  const before = text.slice(0, column - 1).split("\n")
  const last = (before.at(-1) ?? "").length + 1
  return before.length === 1 ? `column ${last}` : `line ${before.length}, column ${last}`
}

/** As {@link inline}, but what the text says stays where it is: it may be a secret taken for a policy. */
const hidden = (source: string, text: string): Result.Result<Resolved, Ending> =>
  Result.mapError(Policy.parse(text, { predicates }), ({ column, suggestion }) => {
    const meant = suggestion === undefined ? "" : ` (did you mean ${suggestion}?)`
    return refuse(`${source} holds no policy: see its ${placeOf(text, column)}${meant}`)
  })

const preset = Effect.fnUntraced(function* (name: string) {
  const { all: presets } = yield* Effect.promise(() => import("@reprise/core/Presets"))
  const known = Object.keys(presets)
  const found = Object.entries(presets).find(([known]) => known === name)?.[1]
  // By way of the notation, where every predicate reads every error.
  return yield* found === undefined
    ? Effect.fail(refuse(`no preset is called ${JSON.stringify(name)}; known are ${known.join(", ")}`))
    : Effect.fromResult(inline(Policy.format(found.policy)))
})

const environment = (name: string): Result.Result<Resolved, Ending> => {
  const text = process.env[name]
  return text === undefined
    ? Result.fail(refuse(`the environment has no ${JSON.stringify(name)}`))
    : hidden(`env:${name}`, text)
}

/** The policy that an argument stands for. */
export const resolve = (text: string): Effect.Effect<Resolved, Ending> => {
  if (text.startsWith("@")) {
    const path = text.slice(1)
    return Effect.flatMap(readText(path), (content) => Effect.fromResult(hidden(path, content)))
  }
  if (text.startsWith("preset:")) return preset(text.slice("preset:".length))
  if (text.startsWith("env:")) return Effect.fromResult(environment(text.slice("env:".length)))
  return Effect.fromResult(inline(text))
}

/**
 * An error about a policy, for standard error. It names a policy from elsewhere by the place: what stands there is
 * shown by answers alone, which are asked for it.
 */
export const refuseNaming = (text: string, policy: Policy.Any, { message }: { readonly message: string }): Ending =>
  refuse(/^(@|env:)/.test(text) ? message.replaceAll(Policy.format(policy), () => text) : message)

/** What a policy is called beside others: the place where it is written, or the notation, however it was typed. */
export const nameOf = (text: string, policy: Policy.Any): string =>
  /^(@|preset:|env:)/.test(text) ? inLine(text) : Policy.format(policy)

/** The argument of the commands that read one policy. */
export const argument: Argument.Argument<string> = Argument.String("policy").pipe(
  Argument.withDescription("The notation, @FILE, preset:NAME or env:NAME")
)

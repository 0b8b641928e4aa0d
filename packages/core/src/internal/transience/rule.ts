/**
 * The rules that a user's classifier is made of.
 */
import type { Description, Rule, SelfDescription } from "../../Transience.ts"
import { get, isObject } from "../causeChain.ts"
import * as readers from "./readers.ts"

export const toDescription = (description: Description): SelfDescription =>
  typeof description === "string" ? { transience: description } : description

const rule = (match: Rule["match"], description: Description): Rule => ({
  match,
  description: toDescription(description)
})

// Most rules read one value of an error and look it up in a list.
const whenValue = <A extends string | number>(read: (error: object) => unknown) =>
(
  values: A | ReadonlyArray<A>,
  description: Description
): Rule => {
  const accepted: ReadonlyArray<unknown> = [values].flat()
  return rule((error) => {
    const value = isObject(error) ? read(error) : undefined
    return accepted.includes(value) ? String(value) : undefined
  }, description)
}

export const when = (predicate: (error: unknown) => boolean, description: Description): Rule =>
  rule((error) => predicate(error) ? predicate.name || "predicate" : undefined, description)

export const whenClass = (constructor: abstract new(...args: never) => unknown, description: Description): Rule =>
  rule((error) => error instanceof constructor ? constructor.name : undefined, description)

export const whenTag: (tag: string | ReadonlyArray<string>, description: Description) => Rule =
  /* @__PURE__ */ whenValue((error) => get(error, "_tag"))

export const whenCode: (code: string | number | ReadonlyArray<string | number>, description: Description) => Rule =
  /* @__PURE__ */ whenValue((error) => get(error, "code"))

export const whenStatus: (status: number | ReadonlyArray<number>, description: Description) => Rule =
  /* @__PURE__ */ whenValue(readers.statusOf)

export const whenGrpcStatus: (status: number | ReadonlyArray<number>, description: Description) => Rule =
  /* @__PURE__ */ whenValue((error) => readers.isServiceError(error) ? get(error, "code") : undefined)

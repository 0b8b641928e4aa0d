/**
 * How an error says of itself what a retry would make of it.
 */
import type { SelfDescribing, SelfDescription } from "../../Transience.ts"
import * as causeChain from "../causeChain.ts"
import type { Outcome } from "./outcomes.ts"

/** A string, not a symbol: two copies of the package must agree. */
export const TypeId: "~@reprise/core/Transience" = "~@reprise/core/Transience"

/** The description that an error carries, of this or another copy of the package; undefined when it makes no sense. */
export const get = (error: object): SelfDescription | undefined => {
  const description = causeChain.get(error, TypeId)
  if (!causeChain.isObject(description)) return undefined
  const transience = causeChain.get(description, "transience")
  // Its one required field is what it was checked for; the others are read with care.
  return transience === "transient" || transience === "terminal" ? description as SelfDescription : undefined
}

/** Attaches a description, out of sight of logs and JSON; a frozen error stays without. */
export const attach = <E extends object>(error: E, description: SelfDescription): E & SelfDescribing => {
  Reflect.defineProperty(error, TypeId, { value: description, configurable: true, enumerable: false, writable: true })
  // True of every error but a frozen one, which then simply describes nothing.
  return error as E & SelfDescribing
}

/** The outcome that a description stands for. */
export const outcome = (description: SelfDescription): Outcome => {
  const applied = causeChain.get(description, "applied")
  return {
    transience: description.transience,
    applied: applied === "no" || applied === "yes" ? applied : "maybe",
    throttled: causeChain.get(description, "throttled") === true
  }
}

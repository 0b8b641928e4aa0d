/**
 * The built-in readers, in their order, on one error of a chain.
 */
import { get, isObject } from "../causeChain.ts"
import * as codes from "./codes.ts"
import { type Decision, decision } from "./decision.ts"
import * as effectError from "./effectError.ts"
import type { Outcome } from "./outcomes.ts"
import * as selfDescription from "./selfDescription.ts"

/** What the built-in readers make of one error, not looking at what it wraps. */
export const read = (error: object): Decision | undefined => {
  const description = selfDescription.get(error)
  return description !== undefined
    ? decision(selfDescription.outcome(description), "self", undefined)
    : effectError.read(error) ?? readCode(error, get(error, "code")) ?? readHttp(error)
}

const decided = (outcome: Outcome | undefined, reader: Decision["reader"], code: unknown): Decision | undefined =>
  outcome === undefined ? undefined : decision(outcome, reader, String(code))

const readCode = (error: object, code: unknown): Decision | undefined => {
  if (typeof code === "string") {
    const known = decided(codes.readSystem(error, code), "node", code) ??
      decided(codes.readSqlState(code), "sqlstate", code)
    if (known !== undefined) return known
  } else if (typeof code === "number" && isServiceError(error)) {
    return decided(codes.readGrpcStatus(code), "grpc", code)
  }
  const name = get(error, "name")
  return decided(codes.readName(error, name), "node", name)
}

const readHttp = (error: object): Decision | undefined => {
  const status = statusOf(error)
  return status === undefined ? undefined : decided(codes.readStatus(status), "http", status)
}

/** Whether a numeric `code` is a gRPC status: small numbers are used for much, but its details or metadata come too. */
export const isServiceError = (error: object): boolean =>
  typeof get(error, "details") === "string" || isObject(get(error, "metadata"))

/** The HTTP status that an error carries as `status` or `statusCode`, or that its `response` carries. */
export const statusOf = (error: object): number | undefined => {
  const response = get(error, "response")
  return numberOf(error) ?? (isObject(response) ? numberOf(response) : undefined)
}

const numberOf = (self: object): number | undefined => {
  const status = get(self, "status") ?? get(self, "statusCode")
  return typeof status === "number" ? status : undefined
}

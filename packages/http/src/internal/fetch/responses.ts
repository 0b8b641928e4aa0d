/** The response that an error of ours is about. The error outlives it, so it does not hold it as a property. */
import type { ResponseError } from "../client/responseError.ts"

const responses = /* @__PURE__ */ new WeakMap<object, Response>()

export const setResponse = (error: ResponseError, response: Response): void => {
  responses.set(error, response)
}

/** One whose body can still be read. */
export const responseOf = (error: unknown): Response | undefined => {
  const response = typeof error === "object" && error !== null ? responses.get(error) : undefined
  return response?.bodyUsed === true ? undefined : response
}

const ignore = (): void => {}

/** Lets the connection of a response go that nobody will read. */
export const cancel = (response: Response | undefined): void => {
  const body = response?.body
  // Why it does not let itself be cancelled is of no interest.
  if (body !== null && body !== undefined && !body.locked) body.cancel().catch(ignore)
}

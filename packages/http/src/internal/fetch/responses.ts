/** The response that an error of ours is about. The error outlives it, so it is taken away when its turn has come. */
import type { ResponseError } from "../client/responseError.ts"

const responses = /* @__PURE__ */ new WeakMap<object, Response>()

export const setResponse = (error: ResponseError, response: Response): void => {
  responses.set(error, response)
}

/** The response, once. */
export const take = (error: unknown): Response | undefined => {
  if (typeof error !== "object" || error === null) return undefined
  const response = responses.get(error)
  responses.delete(error)
  return response
}

const ignore = (): void => {}

/** Lets the connection of a response go that nobody will read. */
export const cancel = (response: Response | undefined): void => {
  const body = response?.body
  // Why it does not let itself be cancelled is of no interest.
  if (body !== null && body !== undefined && !body.locked) body.cancel().catch(ignore)
}

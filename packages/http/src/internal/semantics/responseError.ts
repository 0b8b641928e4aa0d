import type * as Transience from "@reprise/core/Transience"
import type * as Cause from "effect/Cause"
import * as Data from "effect/Data"

interface Fields {
  readonly status: number
  readonly method: string
  /** Without credentials, query and fragment. */
  readonly url: string
  /** Those of the allow-list. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether the request may have taken effect. */
  readonly applied: Transience.Applied
  /** The server sheds load. */
  readonly throttled: boolean
  /** What the server said of the wait, read by the profile. */
  readonly retryAfter: Transience.RetryAfter | undefined
}

// Named with its type because a declaration file cannot infer what a class extends.
const Base: new(fields: Fields & { readonly message: string }) =>
  & Cause.YieldableError
  & { readonly _tag: "ResponseError" }
  & Readonly<Fields> = Data.TaggedError("ResponseError")

/** The error outlives its response, so it holds no more of it than this. */
const excerpts = /* @__PURE__ */ new WeakMap<ResponseError, string>()

/** See `HttpRetry.ResponseError`. */
export class ResponseError extends Base {
  constructor(fields: Fields & { readonly note?: string | undefined }) {
    const { note, ...rest } = fields
    const message = `${rest.status} from ${rest.method} ${rest.url}${note === undefined ? "" : ` (${note})`}`
    super({ ...rest, message })
    // What an uncaught error prints stays readable: where it was made is the client's business.
    Object.defineProperty(this, "stack", { value: `${this.name}: ${message}`, configurable: true, writable: true })
  }

  /** The beginning of the body, where it is a text: what a person needs to know more. In no log by itself. */
  get excerpt(): string | undefined {
    return excerpts.get(this)
  }

  get "~@reprise/core/Transience"(): Transience.SelfDescription {
    const { applied, retryAfter, throttled } = this
    return { transience: "transient", applied, throttled, retryAfter }
  }

  override toJSON(): unknown {
    const { applied, headers, method, status, url } = this
    return { _tag: "ResponseError", status, method, url, headers, applied }
  }
}

export const setExcerpt = (error: ResponseError, excerpt: string): void => {
  excerpts.set(error, excerpt)
}

export const isResponseError = (u: unknown): u is ResponseError => u instanceof ResponseError

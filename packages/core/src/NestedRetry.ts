/**
 * The defect of a run inside another, where `RetryLayers.Mode` says that there must be none.
 */
import * as Data from "effect/Data"
import type * as Cause from "effect/Cause"
import { howMany } from "./internal/howMany.ts"

/**
 * What a {@link NestedRetry} carries.
 *
 * @category models
 */
export interface Fields {
  /** Name of the layer around, or its policy. */
  readonly outer: string
  /** Name of the run inside, or its policy. */
  readonly inner: string
  /** The most executions that all layers together may come to; `Infinity` where nothing bounds them. */
  readonly executions: number
}

const Base: new(fields: Fields & { readonly message: string }) => Cause.YieldableError & {
  readonly _tag: "NestedRetry"
} & Readonly<Fields> = Data.TaggedError("NestedRetry")<Fields & { readonly message: string }>

/**
 * A run that can retry stands inside another one that can, and the mode is `"fail"`.
 *
 * @category errors
 */
export class NestedRetry extends Base {
  constructor(fields: Fields) {
    super({
      ...fields,
      message: `"${fields.inner}" retries inside "${fields.outer}", which retries too: ${
        howMany(fields.executions)
      } executions of one call. RetryLayers.Mode is "fail"`
    })
  }
}

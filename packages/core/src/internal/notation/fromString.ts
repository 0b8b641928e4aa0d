import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"
import type { InvalidNotation } from "../../InvalidNotation.ts"
import type { Policy } from "../../Policy.ts"
import { isPolicy } from "../policy.ts"
import { format } from "./format.ts"

/** The codec between the text of a policy and the policy. */
export const fromString = <Input>(
  parse: (text: string) => Result.Result<Policy<Input>, InvalidNotation>
): Schema.Codec<Policy<Input>, string> =>
  Schema.String.pipe(Schema.decodeTo(
    // What a policy can read is not there to be seen at run time; the table of predicates says it.
    Schema.declare((u): u is Policy<Input> => isPolicy(u), { identifier: "Policy" }),
    SchemaTransformation.transformEffect({
      decode: (text: string) =>
        Effect.mapError(
          Effect.fromResult(parse(text)),
          (error) => new SchemaIssue.InvalidValue({ message: error.message }, text)
        ),
      encode: (policy) => Effect.succeed(format(policy.spec))
    })
  ))

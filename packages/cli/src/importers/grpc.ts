/**
 * The `retryPolicy` of a gRPC service config, as JSON. Source: gRPC proposal A6, "gRPC Retry Design": at most five
 * attempts, each wait times a draw from 0.8 to 1.2.
 */
import * as Policy from "@reprise/core/Policy"
import type { Imported, Importer, Unmapped } from "./Imported.ts"
import {
  type Candidate,
  duration,
  each,
  fieldsOf,
  findAll,
  type Found,
  isFields,
  json,
  normalized,
  number,
  reading,
  Unreadable
} from "./tree.ts"
import * as unmapped from "./unmapped.ts"

/** What a client makes at most, whatever the config says. */
const mostAttempts = 5

const mapped = ["max_attempts", "initial_backoff", "max_backoff", "backoff_multiplier"]

const reasons: unmapped.Reasons = {
  retryable_status_codes: "kinds of failure are not in a policy's numbers; in code: while(transient), or a classifier",
  per_attempt_recv_timeout: "an option of the run, not of the policy: attemptTimeout, --attempt-timeout"
}

/** What stands beside the policy and changes how it works. */
const aside = (beside: Readonly<Record<string, unknown>>, root: unknown): ReadonlyArray<Unmapped> => {
  const all = isFields(root) ? normalized(root) : {}
  const found: ReadonlyArray<readonly [field: string, value: unknown, reason: string]> = [
    [
      "timeout",
      beside["timeout"],
      "the deadline of the whole call; within(duration) bounds when its last retry starts"
    ],
    ["hedgingPolicy", beside["hedging_policy"], "no equivalent: attempts at the same time"],
    ["retryThrottling", all["retry_throttling"], "a retry budget, which is shared by a client and not in a policy"]
  ]
  return found.flatMap(([field, value, reason]) => value === undefined ? [] : [{ field, value, reason }])
}

const beyond = (field: string, attempts: number): ReadonlyArray<Unmapped> =>
  attempts <= mostAttempts
    ? []
    : [{ field, value: attempts, reason: `gRPC clients make ${mostAttempts} at most` }]

const one = (found: Found, root: unknown): Imported => {
  const { at, beside, fields, spelled } = found
  const listed = unmapped.list(found, mapped, reasons)
  const missing = mapped.find((field) => fields[field] === undefined)
  if (missing !== undefined) throw new Unreadable(`has a retryPolicy without ${missing}, which gRPC refuses`)
  const attempts = number("maxAttempts", fields["max_attempts"])
  const longest = duration("maxBackoff", fields["max_backoff"])
  const waits = Policy.exponential(
    duration("initialBackoff", fields["initial_backoff"]),
    number("backoffMultiplier", fields["backoff_multiplier"])
  ).pipe(Policy.capped(longest), Policy.jitteredWith({ min: 0.8, max: 1.2 }))
  return {
    at,
    policy: Policy.format(Policy.attempts(waits, Math.min(attempts, mostAttempts))),
    unmapped: [
      ...beyond(spelled("max_attempts"), attempts),
      {
        field: spelled("max_backoff"),
        value: fields["max_backoff"],
        reason: "a cap holds here; gRPC's jitter may pass it by 20 %"
      },
      ...listed,
      ...aside(beside, root)
    ]
  }
}

const text = (value: unknown): string => typeof value === "string" ? value : ""

/** Where it is, and the services and methods that it is for. */
const nameOf = ({ at, parent }: Candidate): string => {
  const names = Array.isArray(parent["name"]) ? parent["name"].filter(isFields) : []
  const spelled = names.map(({ method, service }) => [text(service), text(method)].filter((_) => _ !== "").join("/"))
  return spelled.length === 0 ? at : `${at} (${spelled.join(", ")})`
}

export const grpc: Importer = (content) =>
  reading(() => {
    const root = json(content)
    return each(findAll(root, "retry_policy"), nameOf, (_) => one(fieldsOf(_), root))
  })

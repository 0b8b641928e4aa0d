/**
 * Published retry defaults as policies, and two of our own: something known to start from.
 *
 * A preset is the pace of its original: how often and after how long. What is worth a retry is not in it: add
 * `Policy.whileInput(Transience.isTransient, "transient")` or `Policy.whileTag`. Nor is what stands outside of a policy:
 * deadlines of an attempt are an option of the run, and a quota belongs to a client. `load` below is the number of
 * executions when every one of them fails; `Plan.of` tells the rest.
 *
 * ```ts
 * import { Policy, Presets, Transience } from "@reprise/core"
 *
 * const policy = Presets.envoy.pipe(Policy.whileInput(Transience.isTransient, "transient"))
 * console.log(Policy.format(policy))
 * // => exponential(25ms) | cap(250ms) | jitter | attempts(2) | while(transient)
 * ```
 *
 * Read in November 2026 in the sources that each preset names.
 */
import * as Policy from "./Policy.ts"
import * as Transience from "./Transience.ts"

// Bundlers drop a pure call that nobody uses, but not the calls in its arguments: those stand inside a function.
const preset = <P extends Policy.Any>(build: () => P): P => build()

/**
 * AWS SDK for Python and AWS CLI, `retry_mode = legacy`: each wait is 1 s doubled and drawn from zero, without a cap.
 * Legacy means something else in every SDK. Load: 5 in at most 15 s of waiting.
 *
 * Source: boto/botocore, `data/_retry.json` and `retryhandler.py`. Not said here: DynamoDB's own ten attempts from
 * 50 ms.
 *
 * @category presets
 */
export const awsLegacy: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.exponential("1 second").pipe(Policy.jittered, Policy.attempts(5))
)

/**
 * AWS SDKs, `retry_mode = standard`, as it was until November 2026. Load: 3 in at most 3 s of waiting.
 *
 * Source: boto/botocore, `retries/standard.py`, version 2.0. Not said here: the retry quota of a client, which is a
 * budget; the SDK for JavaScript, which began at 100 ms, and at 500 ms when throttled.
 *
 * @category presets
 */
export const awsStandard: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.exponential("1 second").pipe(Policy.capped("20 seconds"), Policy.jittered, Policy.attempts(3))
)

/**
 * AWS SDKs, `retry_mode = standard`, the default since November 2026 (`AWS_NEW_RETRIES_2026` before): transient errors
 * soon, throttling as slowly as ever. Load: 3, in at most 150 ms of waiting, or 3 s when throttled.
 *
 * Source: AWS SDKs and Tools Reference Guide, "Retry behavior"; boto/botocore, `retries/standard.py`, version 2.1. Not
 * said here: the retry quota; DynamoDB's four attempts from 25 ms; `x-amz-retry-after`, which moves a wait by 5 s at
 * most. A wait there grows with the attempts, here with the failures of its own kind. And throttling there is a list of
 * error codes, here what `Transience.isThrottled` says, status 429 and 503 among it.
 *
 * @category presets
 */
export const aws2026: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.byInput(
    [["throttled", Transience.isThrottled, Policy.exponential("1 second")]],
    Policy.exponential("50 millis")
  ).pipe(Policy.capped("20 seconds"), Policy.jittered, Policy.attempts(3))
)

/**
 * The example of gRPC's retry design, of which most service configs are copies. gRPC itself has no default; its clients
 * make five attempts at most, whatever a config says. Load: 4 in 560 to 840 ms of waiting.
 *
 * Source: grpc/proposal, `A6-client-retries.md`, with the jitter of ±20 % that it has had since August 2024. Not said
 * here: retry throttling, which is a budget; hedging; retries of what never left the client; pushback, which replaces a
 * wait and starts the growth anew (`Policy.honoringRetryAfter` adds to the wait). And a cap here holds against jitter,
 * where gRPC may wait 20 % longer than `maxBackoff`.
 *
 * @category presets
 */
export const grpc: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.exponential("100 millis").pipe(
    Policy.capped("1 second"),
    Policy.jitteredWith({ min: 0.8, max: 1.2 }),
    Policy.attempts(4)
  )
)

/**
 * Envoy's default for a route with a retry policy: one retry, soon. Load: 2 in at most 25 ms of waiting.
 *
 * Source: envoyproxy/envoy, `source/common/router/retry_state_impl.cc` and `source/common/common/backoff_strategy.cc`.
 * Not said here: the limit of three retries at a time per cluster, which is a budget; retries on another host;
 * `rate_limited_retry_back_off`.
 *
 * @category presets
 */
export const envoy: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.exponential("25 millis").pipe(Policy.capped("250 millis"), Policy.jittered, Policy.attempts(2))
)

/**
 * Temporal's default for an activity: from 1 s, doubling up to 100 s, without jitter and without an end. Load: no
 * limit; one execution every 100 s in the end.
 *
 * Source: temporalio/temporal, `common/retrypolicy/retry_policy.go` and `service/history/workflow/retry.go`. Not said
 * here: the activity's timeouts, which are what ends it; the wait that a failure may name for itself.
 *
 * @category presets
 */
export const temporal: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.exponential("1 second").pipe(Policy.capped("100 seconds"), Policy.unlimited)
)

/**
 * Sidekiq's default for a job: 25 retries in about 20.4 days. Made for jobs in a queue; a process has seldom as much
 * time. Load: 26.
 *
 * Source: sidekiq/sidekiq, `lib/sidekiq/job_retry.rb`, version 8: `count ** 4 + 15 + rand(10 * (count + 1))` seconds.
 * Not said here: it draws whole seconds.
 *
 * @category presets
 */
export const sidekiq: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.polynomial("1 second", 4, { start: 0, offset: "15 seconds", spread: "10 seconds" }).pipe(Policy.attempts(26))
)

/**
 * Stripe's SDK for Node: two retries, each after at least 500 ms. Load: 3 in 1 to 1.5 s of waiting. The first wait is
 * the same in every client.
 *
 * Source: stripe/stripe-node, version 22, `src/RequestSender.ts`, `src/stripe.core.ts` and
 * `src/platform/PlatformFunctions.ts`. Not said here: a connection found closed is tried again even when retries are
 * off; `stripe-should-retry`, which is classification. Its keys are `Retry.runKeyed`.
 *
 * @category presets
 */
export const stripe: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.max([
    Policy.constant("500 millis"),
    Policy.exponential("500 millis").pipe(Policy.capped("5 seconds"), Policy.jitteredWith("equal"))
  ]).pipe(Policy.attempts(3))
)

/**
 * Google's API clients (gax): from 100 ms, times 1.3 up to 60 s, drawn from zero, for ten minutes. Load: 42 in
 * the mean when attempts take no time, and no limit but time.
 *
 * Source: googleapis/gax-nodejs, `createDefaultBackoffSettings` in `gax/src/gax.ts`; the ten minutes are those of most
 * generated client configs. Not said here: attempt timeouts that grow. And gax looks at the time before an attempt,
 * where `within` does not begin a wait in vain.
 *
 * @category presets
 */
export const googleGax: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.exponential("100 millis", 1.3).pipe(
    Policy.capped("60 seconds"),
    Policy.jittered,
    Policy.within("10 minutes")
  )
)

/**
 * A Kubernetes Job with its default `backoffLimit` of 6: from 10 s, doubling, without jitter. Load: 7 in 10.5 minutes
 * of waiting.
 *
 * Source: Kubernetes documentation, "Jobs", and kubernetes/kubernetes, `pkg/controller/job`. The cap is the documented
 * six minutes; the controller has ten, and six retries reach neither. Not said here: a success resets the growth;
 * several pods at a time.
 *
 * @category presets
 */
export const kubernetesJob: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.exponential("10 seconds").pipe(Policy.capped("6 minutes"), Policy.attempts(7))
)

/**
 * Ours, for a call over HTTP: `Policy.standard` that follows `Retry-After` up to 60 s, and begins no retry later than
 * 30 s after the first attempt began. Load: 3 in at most 600 ms of waiting where no hint asks for more.
 *
 * @category presets
 */
export const http: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.standard.pipe(Policy.within("30 seconds"), Policy.honoringRetryAfter({ max: "60 seconds" }))
)

/**
 * Ours, for a whole transaction that lost against another one (serialization failure, deadlock, optimistic lock): soon,
 * often, and far apart. Load: 8 in at most 1.27 s of waiting. A conflict is over when the other has committed, so it
 * starts at 10 ms; full jitter needs the fewest calls where many contend for one row. Not for a database that is down
 * or overloaded: it asks for {@link http}'s patience.
 *
 * Source: M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, for growth and jitter.
 *
 * @category presets
 */
export const database: Policy.Unrestricted = /* @__PURE__ */ preset(() =>
  Policy.exponential("10 millis").pipe(Policy.capped("1 second"), Policy.jittered, Policy.attempts(8))
)

/**
 * A preset with where it comes from.
 *
 * @category models
 */
export interface Preset {
  readonly policy: Policy.Unrestricted
  /** Where its numbers come from. */
  readonly source: string
  /** The load when everything fails, and what of the original it leaves out. */
  readonly note: string
}

/**
 * The name of a preset, as the command `reprise` knows it (`preset:aws-2026`).
 *
 * @category models
 */
export type Name =
  | "standard"
  | "http"
  | "database"
  | "aws-legacy"
  | "aws-standard"
  | "aws-2026"
  | "envoy"
  | "google-gax"
  | "grpc"
  | "kubernetes-job"
  | "sidekiq"
  | "stripe"
  | "temporal"

/**
 * Every preset by its name. Use it to choose one by configuration. A program that imports `@reprise/core/Presets` and
 * names one in code has only that one in its bundle.
 *
 * @category presets
 */
export const all: Readonly<Record<Name, Preset>> = {
  standard: {
    policy: Policy.standard,
    source: "Reprise",
    note: "3 executions; for calls inside one region"
  },
  http: {
    policy: http,
    source: "Reprise",
    note: "3 executions; follows Retry-After"
  },
  database: {
    policy: database,
    source: "Reprise, after AWS Architecture Blog, Exponential Backoff and Jitter",
    note: "8 executions; for transaction conflicts, not for a database that is down"
  },
  "aws-legacy": {
    policy: awsLegacy,
    source: "boto/botocore, data/_retry.json",
    note: "5 executions; without DynamoDB's own numbers; differs from SDK to SDK"
  },
  "aws-standard": {
    policy: awsStandard,
    source: "boto/botocore, retries/standard.py (until November 2026)",
    note: "3 executions; without the retry quota"
  },
  "aws-2026": {
    policy: aws2026,
    source: "AWS SDKs and Tools Reference Guide, Retry behavior (since November 2026)",
    note: "3 executions; without the retry quota, x-amz-retry-after and DynamoDB's own numbers"
  },
  envoy: {
    policy: envoy,
    source: "envoyproxy/envoy, retry_state_impl.cc",
    note: "2 executions; without the limit on retries at a time"
  },
  "google-gax": {
    policy: googleGax,
    source: "googleapis/gax-nodejs, gax.ts, and generated client configs",
    note: "executions limited by time alone; without attempt timeouts that grow"
  },
  grpc: {
    policy: grpc,
    source: "grpc/proposal, A6-client-retries.md, its example",
    note: "4 executions, clients make 5 at most; without retry throttling, hedging and pushback"
  },
  "kubernetes-job": {
    policy: kubernetesJob,
    source: "Kubernetes documentation, Jobs",
    note: "7 executions, without jitter; without the reset after a success"
  },
  sidekiq: {
    policy: sidekiq,
    source: "sidekiq/sidekiq, job_retry.rb",
    note: "26 executions in about 20.4 days"
  },
  stripe: {
    policy: stripe,
    source: "stripe/stripe-node, RequestSender.ts",
    note: "3 executions, the first wait without jitter; without the extra retry of a closed connection"
  },
  temporal: {
    policy: temporal,
    source: "temporalio/temporal, retry_policy.go",
    note: "no limit to the executions, without jitter; there the activity's timeouts end it"
  }
}

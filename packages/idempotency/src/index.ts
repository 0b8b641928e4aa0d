export * as HttpIdempotency from "./HttpIdempotency.ts"
export * as Idempotency from "./Idempotency.ts"
export * as IdempotencyError from "./IdempotencyError.ts"
export * as IdempotencyStore from "./IdempotencyStore.ts"

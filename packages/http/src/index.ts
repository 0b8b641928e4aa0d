export * as HttpRetry from "./HttpRetry.ts"
export * as RetryHint from "./RetryHint.ts"

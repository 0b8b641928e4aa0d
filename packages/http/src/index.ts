export * as RetryHint from "./RetryHint.ts"

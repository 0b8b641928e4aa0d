export * as SqlRetry from "./SqlRetry.ts"

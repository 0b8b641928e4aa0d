export * as Script from "./Script.ts"
export * as Timeline from "./Timeline.ts"

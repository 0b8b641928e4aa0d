/** Executions in words. */
export const howMany = (executions: number): string => executions === Infinity ? "any number of" : `up to ${executions}`

const bare = /^[A-Za-z_][\w.-]*$/

/** A name stands bare where it can be read back, and as a JSON string elsewhere. */
export const write = (text: string): string => bare.test(text) ? text : JSON.stringify(text)

/** What `node:sqlite` throws, as the errors of `effect/sql`. */
import {
  AuthorizationError,
  classifySqliteError,
  SerializationError,
  SqlError,
  type SqlErrorReason,
  SqlSyntaxError,
  UniqueViolation,
  UnknownError
} from "effect/sql/SqlError"

/** What was being done; it ends up in the error's `operation`. */
export type Operation = "open" | "prepare" | "bind" | "execute" | "stream" | "backup"

const attempts: Readonly<Record<Operation, string>> = {
  open: "Failed to open the database",
  prepare: "Failed to prepare the statement",
  bind: "Failed to bind the parameters",
  execute: "Failed to execute the statement",
  stream: "Failed to read the next rows",
  backup: "Failed to back up the database"
}

// https://www.sqlite.org/rescode.html: the low byte of an extended code is the primary one.
const code = {
  ok: 0,
  error: 1,
  busy: 5,
  readonly: 8,
  busySnapshot: 517,
  primaryKey: 1555,
  rowId: 2579
} as const

const message = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const numberOf = (cause: unknown): number | undefined =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number" ? cause.errcode : undefined

const violated = (cause: unknown): string => /^UNIQUE constraint failed: (.+)$/s.exec(message(cause))?.[1] ?? "unknown"

const classify = (cause: unknown, operation: Operation, text: string): SqlErrorReason => {
  const properties = { cause, operation, message: text }
  const number = numberOf(cause)
  switch (number) {
    case undefined:
      return new UnknownError(properties)
    // The same statement in the same transaction meets the same snapshot for ever: it is the transaction that is worth
    // another attempt, as with PostgreSQL's 40001.
    case code.busySnapshot:
      return new SerializationError(properties)
    // To whoever inserts a row twice, a primary key is a unique constraint; it has a number of its own in SQLite only.
    case code.primaryKey:
    case code.rowId:
      return new UniqueViolation({ ...properties, constraint: violated(cause) })
  }
  // There are no parameters yet when a text is prepared: what is wrong is the text, or that what it names does not
  // exist, which is what class 42 of SQLSTATE is for PostgreSQL.
  if (isLogicError(cause) && operation === "prepare") return new SqlSyntaxError(properties)
  if ((number & 0xff) === code.readonly) return new AuthorizationError(properties)
  // Effect reads the number from where other drivers have it.
  return classifySqliteError(Object.assign(cause as Error, { errno: number }), { message: text, operation })
}

/** An error as `node:sqlite` throws it. */
const thrownAs = (text: string, errcode: number | undefined): Error =>
  Object.assign(new Error(text), { code: "ERR_SQLITE_ERROR", errcode })

// A function of SQL that fails at run time may repeat its argument, as in "bad JSON path: '…'". What the caller bound
// may be a secret, and errors are logged.
const withheld = (cause: unknown): Error =>
  thrownAs("SQL logic error (the details are withheld: they may repeat a parameter)", numberOf(cause))

/** Whether SQLite says no more than that something is wrong: in the text, or in what a function was given. */
export const isLogicError = (thrown: unknown): boolean => ((numberOf(thrown) ?? 0) & 0xff) === code.error

/** The error for what was thrown, by a statement with so many parameters. Nothing in it repeats one of them. */
export const failure = (thrown: unknown, operation: Operation, parameters: number): SqlError => {
  if (thrown instanceof SqlError) return thrown
  const cause = operation !== "prepare" && parameters > 0 && isLogicError(thrown) ? withheld(thrown) : thrown
  return new SqlError({ reason: classify(cause, operation, `${attempts[operation]}: ${message(cause)}`) })
}

/** The error for what was thrown where a file was opened or written. It names the file. */
export const fileFailure = (thrown: unknown, operation: "open" | "backup", filename: string): SqlError => {
  if (thrown instanceof SqlError) return thrown
  // Of a file that is locked, a backup says that nothing is wrong.
  const cause = numberOf(thrown) === code.ok ? thrownAs("it is locked", code.busy) : thrown
  const attempt = operation === "open" ? attempts.open : `${attempts.backup} to`
  return new SqlError({ reason: classify(cause, operation, `${attempt} ${filename}: ${message(cause)}`) })
}

/** An error for parameters or a use that SQLite was not even asked about. */
export const refusal = (text: string, operation: Operation): SqlError =>
  new SqlError({
    reason: new UnknownError({ cause: new TypeError(text), operation, message: `${attempts[operation]}: ${text}` })
  })

/** Refuses the name by which SQLite makes a file of its own, which nobody finds again. */
export const requireName = (filename: unknown, operation: "open" | "backup"): void => {
  if (typeof filename !== "string" || filename === "") {
    throw refusal("the filename is missing or empty; name a file, or \":memory:\"", operation)
  }
}

/** An error for a text that is more than one statement, or takes parameters in a way that cannot be served. */
export const refusedText = (text: string): SqlError =>
  new SqlError({
    reason: new SqlSyntaxError({
      cause: new TypeError(text),
      operation: "prepare",
      message: `${attempts.prepare}: ${text}`
    })
  })

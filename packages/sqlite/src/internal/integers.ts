/** Integers as they leave the database: a `number` where that is exact, a `bigint` beyond. */

type Row = Record<string, unknown> | Array<unknown>

/** Rounds nothing: beyond 2^53 the conversion may be inexact, but is then no safe integer either. */
export const narrow = (value: unknown): unknown => {
  if (typeof value !== "bigint") return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Narrows the rows in place: nobody else has seen them yet. */
export const narrowRows = <Rows extends ReadonlyArray<Row>>(rows: Rows): Rows => {
  for (const row of rows) {
    if (Array.isArray(row)) {
      for (let index = 0; index < row.length; index++) row[index] = narrow(row[index])
    } else {
      for (const column in row) row[column] = narrow(row[column])
    }
  }
  return rows
}

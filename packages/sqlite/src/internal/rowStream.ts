/** Rows as a stream that reads on only when it is asked to. */
import { isReadonlyArrayNonEmpty } from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { Fiber } from "effect/Fiber"
import type { Pull } from "effect/Pull"
import type { Scope } from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import * as Failure from "./failure.ts"
import * as Integers from "./integers.ts"
import * as Parameters from "./parameters.ts"
import type { Prepared } from "./statements.ts"

type Row = Record<string, unknown>
type Rows = ReadonlyArray<Row>

// Rows in memory at a time; large enough that the stream's own work for a chunk is spread over many rows.
const chunkSize = 128

interface Options {
  readonly prepare: (fiber: Fiber<unknown, unknown>) => Prepared
  readonly values: ReadonlyArray<unknown>
  readonly asBigInts: (fiber: Fiber<unknown, unknown>) => boolean
  readonly transform: (<A extends object>(rows: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined
}

const guarded = <A>(operation: Failure.Operation, values: ReadonlyArray<unknown>, read: () => A) =>
  Effect.try({ try: read, catch: (thrown) => Failure.failure(thrown, operation, values.length) })

interface Rest {
  readonly rows: Iterator<Row, unknown>
  /** There are versions of `node:sqlite` that begin anew when they are asked on after the end. */
  ended: boolean
}

const open = ({ prepare, values }: Options): Effect.Effect<Rest, SqlError, Scope> =>
  Effect.acquireRelease(
    Effect.withFiber((fiber) => guarded("prepare", values, () => prepare(fiber))).pipe(
      Effect.flatMap(({ parameters, statement }) =>
        guarded("execute", values, () => statement.iterate(...Parameters.bind(values, parameters)))
      ),
      Effect.map((rows) => ({ rows, ended: false }))
    ),
    ({ rows }) =>
      Effect.sync(() => {
        try {
          rows.return?.()
        } catch {
          // The database was closed meanwhile, and has closed all that was open.
        }
      })
  )

const next = (rest: Rest): Rows => {
  const chunk: Array<Row> = []
  while (!rest.ended && chunk.length < chunkSize) {
    const { done, value } = rest.rows.next()
    if (done === true) rest.ended = true
    else chunk.push(value)
  }
  return chunk
}

/** The rows of one statement, in chunks. The statement is finished with when the stream ends, however it ends. */
export const rowStream = (options: Options): Stream.Stream<Row, SqlError> =>
  Stream.unwrap(Effect.map(open(options), (rest) => {
    const pull: Pull<readonly [Row, ...ReadonlyArray<Row>], SqlError> = Effect.withFiber((fiber) =>
      Effect.flatMap(guarded("stream", options.values, () => next(rest)), (rows) => {
        if (!isReadonlyArrayNonEmpty(rows)) return Cause.done()
        if (!options.asBigInts(fiber)) Integers.narrowRows(rows)
        const transformed = options.transform === undefined ? rows : options.transform(rows)
        return Effect.succeed(transformed as typeof rows)
      })
    )
    return Stream.fromPull(Effect.succeed(pull))
  }))

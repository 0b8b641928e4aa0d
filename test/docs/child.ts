// Runs example scripts one after another in one process: loading Effect once, not once for each.
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { pathToFileURL } from "node:url"
import { format, inspect } from "node:util"

export interface Outcome {
  readonly name: string
  readonly printed: ReadonlyArray<string>
  readonly error?: string
}

const patience = 10_000

const active = () => process.getActiveResourcesInfo().filter((kind) => kind !== "Immediate").length

/** Waits for what an example started and did not await: `Effect.runPromise(program)` on its last line, for instance. */
const settled = async (before: number) => {
  const end = performance.now() + patience
  for (let quiet = 0; quiet < 3; quiet = active() > before ? 0 : quiet + 1) {
    if (performance.now() > end) throw new Error(`still running after ${patience} ms`)
    await sleep(1)
  }
}

const run = async (name: string): Promise<Outcome> => {
  const printed: Array<string> = []
  console.log = console.info = console.debug = (...values: ReadonlyArray<unknown>) => {
    printed.push(...format(...values).split("\n"))
  }
  let stop: (error: unknown) => void = () => {}
  const failed = new Promise<never>((_, reject) => stop = reject)
  process.on("uncaughtException", stop)
  process.on("unhandledRejection", stop)
  try {
    const before = active()
    const done = import(pathToFileURL(join(process.cwd(), name)).href).then(() => settled(before))
    await Promise.race([done, failed])
    return { name, printed }
  } catch (error) {
    return { name, printed, error: inspect(error) }
  } finally {
    process.off("uncaughtException", stop)
    process.off("unhandledRejection", stop)
  }
}

for (const name of process.argv.slice(2)) process.send?.(await run(name))
process.disconnect()
process.exit()

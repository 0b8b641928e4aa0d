// Usage: npm run bench -- [--quick | --smoke] [--json] [part of a name ...]
import { spawnSync } from "node:child_process"
import { cpus } from "node:os"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import type { Many, Measurement } from "./Measurement.ts"
import { render, type Section } from "./table.ts"

const measurements: Readonly<Record<string, () => Promise<Measurement>>> = {
  "success": async () => (await import("./success.ts")).success,
  "guards": async () => (await import("./guards.ts")).guards,
  "budget": async () => (await import("./budget.ts")).budget,
  "redis": async () => (await import("./redis.ts")).redis,
  "one-retry": async () => (await import("./oneRetry.ts")).oneRetry,
  "heap": async () => (await import("./heap.ts")).heap,
  "reading": async () => (await import("./reading.ts")).reading,
  "stepper": async () => (await import("./stepper.ts")).stepper,
  "size": async () => (await import("./size.ts")).size,
  "sql": async () => (await import("./sql.ts")).sql,
  "idempotency": async () => (await import("./idempotency.ts")).idempotency,
  "http": async () => (await import("./http.ts")).http,
  "sqlite": async () => (await import("./sqlite.ts")).sqlite,
  "timelines": async () => (await import("./timelines.ts")).timelines
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    /** Next to nothing of everything, to see that all of it runs. Its figures mean nothing. */
    smoke: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    /** Measures one, in this process, and prints its section as JSON. */
    here: { type: "string" }
  }
})

const flags = (["quick", "smoke"] as const).filter((flag) => values[flag])

const many: Many = (full, quick) => values.smoke ? Math.ceil(quick / 1_000) : values.quick ? quick : full

const measureHere = async (name: string): Promise<Section> => {
  const { measure, title } = await measurements[name]!()
  return { name, title, rows: await measure({ quick: flags.length > 0, many }) }
}

// Each in a process of its own: what one has taught the compiler does not change the next, and a measurement asked for
// by name gives what it gives among all.
const measureApart = (name: string): Section | undefined => {
  const start = performance.now()
  process.stderr.write(`${name} ... `)
  const { status, stdout } = spawnSync(
    process.execPath,
    ["--expose-gc", fileURLToPath(import.meta.url), "--here", name, ...flags.map((flag) => `--${flag}`)],
    // What it says while it runs is said at once.
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }
  )
  if (status !== 0) {
    process.stderr.write("failed\n")
    process.exitCode = 1
    return undefined
  }
  process.stderr.write(`${((performance.now() - start) / 1_000).toFixed(1)} s\n`)
  return JSON.parse(stdout)
}

const measureAll = (): void => {
  const names = Object.keys(measurements)
  const chosen = names.filter((name) => positionals.length === 0 || positionals.some((part) => name.includes(part)))
  if (chosen.length === 0) {
    process.stderr.write(`No measurement is called ${positionals.join(" or ")}. There are: ${names.join(", ")}\n`)
    process.exitCode = 1
    return
  }
  const sections = chosen.flatMap((name) => measureApart(name) ?? [])
  const { arch, platform, version: node } = process
  const machine = { node, platform, arch, cpu: cpus()[0]?.model ?? "unknown", flags }
  process.stdout.write(
    values.json
      ? `${JSON.stringify({ machine, sections }, undefined, 2)}\n`
      : `Node ${node}, ${platform} ${arch}, ${machine.cpu}${flags.map((flag) => `, ${flag}`).join("")}\n\n${
        render(sections)
      }`
  )
}

if (values.here === undefined) measureAll()
else process.stdout.write(JSON.stringify(await measureHere(values.here)))

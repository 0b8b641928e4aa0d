/** What Redis runs: each in one step, and by the clock of the server. */
import * as Redis from "effect/persistence/Redis"
import type { Ending, Found, Held, Request } from "../../IdempotencyStore.ts"

// A record is one text: state, fence, holder, fingerprint, retention and outcome, with a space between. While it is held
// it lives for lease and retention together, and else for its retention: what is left of a lease is what is left of its
// life, less the retention. One command makes it, and Redis removes it when its time is over.
const head = `
local function read()
  local row = redis.call('GET', KEYS[1])
  if row then return string.match(row, '^(%l+) (%d+) (%S+) (%S+) (%d+) ') end
end
local function set(life, ...)
  redis.call('SET', KEYS[1], table.concat({ ... }, ' '), 'PX', life)
end
`

type Script<Params extends ReadonlyArray<unknown>, Result> = Redis.Script<{ params: Params; result: Result }>

/** A record as it is, and what is left of its life in milliseconds. */
export type Row = readonly [row: string | null, left: number]

/** What a claim writes, but for state and number, and for how long. */
export const claimed = (
  { fingerprint, holder, lease, retention }: Request
): { readonly record: string; readonly life: string } => ({
  record: `${holder} ${fingerprint} ${retention} `,
  life: String(lease + retention)
})

/** The number of a claim, or a record. */
export const claim: Script<[key: string, record: string, life: string], number | Row> = Redis.script(
  (key: string, record: string, life: string) => [key, record, life],
  {
    numberOfKeys: 1,
    lua: `
if redis.call('SET', KEYS[1], 'running 1 ' .. ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
local row = redis.call('GET', KEYS[1])
local fence = string.match(row, '^free (%d+) ')
if not fence then return { row, redis.call('PTTL', KEYS[1]) } end
redis.call('SET', KEYS[1], 'running ' .. fence + 1 .. ' ' .. ARGV[1], 'PX', ARGV[2])
return fence + 1`
  }
).withReturnType<number | Row>()

export const retake: Script<[key: string, request: Request, fence: number], number | null> = Redis.script(
  (key: string, { fingerprint, holder, lease, retention }: Request, fence: number) => [
    key,
    fence,
    holder,
    fingerprint,
    retention,
    lease + retention
  ],
  {
    numberOfKeys: 1,
    lua: `${head}
local state, fence, _, _, retention = read()
if fence ~= ARGV[1] then return nil end
local ended = state == 'running' and redis.call('PTTL', KEYS[1]) <= tonumber(retention)
if state ~= 'doubt' and not ended then return nil end
set(ARGV[5], 'running', fence + 1, ARGV[2], ARGV[3], ARGV[4], '')
return fence + 1`
  }
).withReturnType<number | null>()

export const renew: Script<[key: string, held: Held, terms: Pick<Request, "lease" | "retention">], 0 | 1> = Redis
  .script(
    (key: string, { fence, holder }: Held, { lease, retention }: Pick<Request, "lease" | "retention">) => [
      key,
      fence,
      holder,
      retention,
      lease + retention
    ],
    {
      numberOfKeys: 1,
      lua: `${head}
local state, fence, holder, fingerprint = read()
if state ~= 'running' or fence ~= ARGV[1] or holder ~= ARGV[2] then return 0 end
set(ARGV[4], state, fence, holder, fingerprint, ARGV[3], '')
return 1`
    }
  ).withReturnType<0 | 1>()

export const finish: Script<[key: string, held: Held, ending: Ending], 0 | 1> = Redis.script(
  (key: string, { fence, holder }: Held, ending: Ending) => [
    key,
    fence,
    holder,
    ending.state,
    ending.retention,
    ending.state === "done" ? ending.outcome : ""
  ],
  {
    numberOfKeys: 1,
    lua: `${head}
local _, fence, holder, fingerprint = read()
if fence ~= ARGV[1] or holder ~= ARGV[2] then return 0 end
set(ARGV[4], ARGV[3], fence, holder, fingerprint, ARGV[4], ARGV[5])
return 1`
  }
).withReturnType<0 | 1>()

export const read: Script<[key: string], Row> = Redis.script((key: string) => [key], {
  numberOfKeys: 1,
  lua: `return { redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]) }`
}).withReturnType<Row>()

/** What a record says; `undefined` where there is none. */
export const parse = ([row, left]: Row): Found | undefined => {
  if (row === null || row.startsWith("free ")) return undefined
  const [, state, fence, holder, fingerprint, retention, outcome] =
    /^(running|doubt|done) (\d+) (\S+) (\S+) (\d+) (.*)$/s.exec(row) ?? []
  // Its place is not ours alone: the key of somebody else, under the same prefix.
  if (state === undefined) throw new Error("What is kept there is no idempotency record")
  return {
    // The pattern knows no other.
    state: state as Found["state"],
    fence: Number(fence),
    holder: holder!,
    fingerprint: fingerprint!,
    left: state === "running" ? left - Number(retention) : 0,
    outcome: state === "done" ? outcome : undefined
  }
}

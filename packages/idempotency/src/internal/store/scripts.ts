/** What Redis runs: each in one step, and by the clock of the server. */
import * as Redis from "effect/persistence/Redis"
import type { Ending, Held, Request } from "../../IdempotencyStore.ts"

// A hash: state, fence, holder, fingerprint, until (milliseconds of the server's clock), outcome. Redis removes it when
// its retention has passed.
const head = `
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function read()
  return redis.call('HMGET', KEYS[1], 'state', 'fence', 'holder', 'fingerprint', 'until', 'outcome')
end
local function hold(fence, holder, fingerprint, lease, retention)
  redis.call('HSET', KEYS[1], 'state', 'running', 'fence', fence, 'holder', holder, 'fingerprint', fingerprint,
    'until', clock() + lease, 'outcome', '')
  redis.call('PEXPIRE', KEYS[1], lease + retention)
  return { tostring(fence) }
end
local function found(row)
  if not row[1] or row[1] == 'free' then return {} end
  return { row[1], row[2], row[3], row[4], tostring(row[5] - clock()), row[6] }
end
local function held()
  local row = redis.call('HMGET', KEYS[1], 'state', 'fence', 'holder')
  return row[1] and row[2] == ARGV[1] and row[3] == ARGV[2] and row[1]
end
`

/** Texts: one, the number of a claim; six, a record; none where there is nothing. */
export type Reply = ReadonlyArray<string>

type Script<Params extends ReadonlyArray<unknown>> = Redis.Script<{ params: Params; result: Reply }>

const claimed = ({ fingerprint, holder, lease, retention }: Request) => [holder, fingerprint, lease, retention]

export const claim: Script<[key: string, request: Request]> = Redis.script(
  (key: string, request: Request) => [key, ...claimed(request)],
  {
    numberOfKeys: 1,
    lua: `${head}
local row = read()
if row[1] and row[1] ~= 'free' then return found(row) end
return hold((row[2] or 0) + 1, ARGV[1], ARGV[2], ARGV[3], ARGV[4])`
  }
).withReturnType<Reply>()

export const retake: Script<[key: string, request: Request, fence: number]> = Redis.script(
  (key: string, request: Request, fence: number) => [key, ...claimed(request), fence],
  {
    numberOfKeys: 1,
    lua: `${head}
local row = read()
if row[2] ~= ARGV[5] then return {} end
if row[1] ~= 'doubt' and (row[1] ~= 'running' or tonumber(row[5]) > clock()) then return {} end
return hold(row[2] + 1, ARGV[1], ARGV[2], ARGV[3], ARGV[4])`
  }
).withReturnType<Reply>()

export const renew: Script<[key: string, held: Held, terms: Pick<Request, "lease" | "retention">]> = Redis.script(
  (key: string, { fence, holder }: Held, { lease, retention }: Pick<Request, "lease" | "retention">) => [
    key,
    fence,
    holder,
    lease,
    retention
  ],
  {
    numberOfKeys: 1,
    lua: `${head}
if held() ~= 'running' then return {} end
redis.call('HSET', KEYS[1], 'until', clock() + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[3] + ARGV[4])
return { ARGV[1] }`
  }
).withReturnType<Reply>()

export const finish: Script<[key: string, held: Held, ending: Ending]> = Redis.script(
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
if not held() then return {} end
redis.call('HSET', KEYS[1], 'state', ARGV[3], 'outcome', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return { ARGV[1] }`
  }
).withReturnType<Reply>()

export const read: Script<[key: string]> = Redis.script((key: string) => [key], {
  numberOfKeys: 1,
  lua: `${head}
return found(read())`
}).withReturnType<Reply>()

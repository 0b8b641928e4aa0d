/**
 * What Redis does: all of it in one script, as what is read must still be so when it is written.
 *
 * A process never says "one more", which a lost reply or a second try would count twice, and an empty server not at
 * all. It says how many there were in each of its slices of time, and the script adds what is new in that. So any
 * number of these reports may be lost, repeated or late: the next one puts things right.
 *
 * Only a retry is granted by "one more", because nobody but Redis can know whether there is one left. The script keeps
 * the number of the command that got it, until the process says that it knows the outcome of all commands before `lo`:
 * from then on its own report has what was granted and what came of it. So a grant whose reply was lost does not stay.
 * A command that runs when nobody waits for it any more, as it lay in the socket of a frozen server, does nothing.
 */
import * as Redis from "effect/persistence/Redis"

/** Slices of the window. The script knows it too. */
export const slices = 10

/** Millionths of a retry, in which balances are counted. The script knows it too. */
export const unit = 1_000_000

export const status = { late: 0, ok: 1, unknown: 2 } as const

/**
 * What the script answers: its status; whether a retry was granted; the balance, in units; how many processes live,
 * 0 when that was not asked; what tops up the requests' part to the reserve, in units a second; how long ago the budget
 * began, and the time on the server's clock, in milliseconds; and which record of the fleet it is.
 */
export type Reply = readonly [
  status: number,
  granted: number,
  balance: number,
  live: number,
  topUp: number,
  age: number,
  now: number,
  fleet: number
]

// Slices are those of the server's clock. That of a process is put where it was first seen; both are kept in twelve
// places that are used over and over. All of it is in two values, packed: as JSON, or in fields of a hash, it takes
// Redis about twice as long.
const lua = `
local length, ratio, trickle = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local id, seq, lo = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local wants, whole = ARGV[7] == "1", ARGV[8] == "1"
local age, alive, deadline = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])

local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local current = math.floor(now / length)
-- Nobody waits for it any more.
if deadline > 0 and now > deadline then return {0, 0, 0, 0, 0, 0, now, 0} end

-- A fleet is known by the microsecond in which its record was made.
local function new() return {id = time[1] * 1000000 + time[2], born = now, slices = {}} end
local text = redis.call("GET", KEYS[1])
local fleet = text and cmsgpack.unpack(text) or new()
text = redis.call("GET", KEYS[2])
local own = text and cmsgpack.unpack(text)
if own and own.fleet == fleet.id then
  if seq < own.lo then return {0, 0, 0, 0, 0, 0, now, 0} end
elseif whole then
  -- Redis has evicted the record of the process, and not what is counted of it: all are to tell it anew.
  if not own and (fleet.id == tonumber(ARGV[12]) or redis.call("ZSCORE", KEYS[3], id)) then fleet = new() end
  own = {fleet = fleet.id, lo = lo, seq = -1, slices = {}, granted = {}}
else
  return {2, 0, 0, 0, 0, 0, now, 0}
end

fleet.born = math.min(fleet.born, now)
-- Not with every command: each is a little late, and little by little the beginning would move.
if whole then fleet.born = math.min(fleet.born, now - age) end
for place, slice in pairs(fleet.slices) do
  -- A server's clock may go back.
  if slice[1] > current then fleet.slices[place] = nil end
end

local function add(number, requests, taken)
  if number < current - 10 or number > current or (requests == 0 and taken == 0) then return end
  local place = tostring(number % 12)
  local slice = fleet.slices[place]
  if not slice or slice[1] ~= number then
    slice = {number, 0, 0}
    fleet.slices[place] = slice
  end
  slice[2] = slice[2] + requests
  slice[3] = slice[3] + taken
end

for known = own.lo, lo - 1 do
  local granted = own.granted[tostring(known)]
  if granted then
    own.granted[tostring(known)] = nil
    local slice = own.slices[tostring(granted % 12)]
    if slice and slice[1] == granted then add(slice[2], 0, -1) end
  end
end
own.lo = math.max(own.lo, lo)

local newest
for i = 13, #ARGV, 4 do
  local number = tonumber(ARGV[i])
  local place = tostring(number % 12)
  local slice = own.slices[place]
  if not slice or slice[1] < number then
    slice = {number, math.floor((now - ARGV[i + 1]) / length), 0, 0}
    own.slices[place] = slice
  end
  if slice[1] == number then
    if seq > own.seq then
      local requests, taken = tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
      add(slice[2], requests - slice[3], taken - slice[4])
      slice[3], slice[4] = requests, taken
    end
    newest = slice
  end
end
own.seq = math.max(own.seq, seq)

local balance, missing = 0, 0
for number = current - 10, current do
  local requests, taken = 0, 0
  local slice = fleet.slices[tostring(number % 12)]
  if slice and slice[1] == number then requests, taken = slice[2] * ratio, slice[3] * 1000000 end
  local from, to = number * length, math.min((number + 1) * length, now)
  local reserve = math.max(0, to - math.max(from, fleet.born)) * trickle
  local part = number == current - 10 and current + 1 - now / length or 1
  balance = balance + part * (math.max(requests, reserve) - taken)
  missing = missing + part * ((to - from) * trickle - requests)
end
balance = math.floor(balance + 0.5)

-- A client may send a command twice.
local granted = own.granted[tostring(seq)] and 1 or 0
if granted == 0 and wants and newest and balance >= 1000000 then
  granted = 1
  balance = balance - 1000000
  own.granted[tostring(seq)] = newest[1]
  add(newest[2], 0, 1)
end

local keep = math.ceil(length * 22)
redis.call("SET", KEYS[1], cmsgpack.pack(fleet), "PX", keep)
redis.call("SET", KEYS[2], cmsgpack.pack(own), "PX", keep)

local live = 0
if alive < 0 then
  redis.call("ZREM", KEYS[3], id)
elseif alive > 0 then
  redis.call("ZADD", KEYS[3], now + alive, id)
  redis.call("ZREMRANGEBYSCORE", KEYS[3], "-inf", now)
  redis.call("ZREMRANGEBYSCORE", KEYS[3], now + 60000, "+inf")
  redis.call("PEXPIRE", KEYS[3], 60000)
  live = redis.call("ZCARD", KEYS[3])
end
return {1, granted, balance, live, math.max(0, math.floor(missing / (length * 10) * 1000)), now - fleet.born, now, fleet.id}
`

/** Keys, and then the arguments that the script begins with; see there. */
export type Parameters = ReadonlyArray<string | number>

/** An answer as numbers. */
export const numbers = ([status, granted, balance, live, topUp, age, now, fleet]: ReadonlyArray<unknown>): Reply => [
  Number(status),
  Number(granted),
  Number(balance),
  Number(live),
  Number(topUp),
  Number(age),
  Number(now),
  Number(fleet)
]

// It is made where it is used: a program without it does not hold it.
export const make = (): Redis.Script<{ params: [Parameters]; result: ReadonlyArray<unknown> }> =>
  Redis.script((parameters: Parameters) => parameters, { numberOfKeys: 3, lua }).withReturnType<
    ReadonlyArray<unknown>
  >()

/**
 * The model of test/fixtures/metastable.json: 70 requests a second, two servers for 50 each, one of which is down for
 * five seconds. Retries that outlast the outage can keep the service down for good. Times are in milliseconds.
 */
import { seeded } from "../Recording.ts"

/** One client, whose budget is its own: what is done about a failure. */
export interface Client {
  readonly request: (now: number) => void
  /** A token for a retry, or `undefined`. */
  readonly failed: (now: number, request: Request, timedOut: boolean) => object | undefined
  /** After how many milliseconds a granted retry may ask again; 0 when it starts. */
  readonly start: (now: number, token: object) => number
  readonly succeeded: (now: number) => void
}

interface Request {
  readonly client: Client
  /** How many it has had. */
  retries: number
  /** How many it may have, from its first failure on. */
  ceiling: number
}

interface Attempt {
  readonly request: Request
  readonly sentAt: number
  over: boolean
}

interface Server {
  readonly queue: Array<Attempt>
  head: number
  readonly serving: Array<{ readonly attempt: Attempt; readonly until: number }>
}

const timeout = 1000
const slots = 5
const meanService = 100
const [downFrom, downUntil] = [5000, 10_000]
const end = 60_000

interface Result {
  /** In-time completions a second in the last ten of sixty seconds. */
  readonly goodput: number
  readonly retries: number
}

const until = (_: { readonly until: number }): number => _.until

const simulate = (clients: ReadonlyArray<Client>, seed: number): Result => {
  const draw = seeded(seed * 7919 + clients.length)
  const exponential = (mean: number): number => -mean * Math.log(1 - draw.nextDoubleUnsafe())
  const servers: ReadonlyArray<Server> = [0, 1].map(() => ({ queue: [], head: 0, serving: [] }))
  const timers: Array<Attempt> = []
  let firstTimer = 0
  const waiting: Array<{ readonly request: Request; readonly token: object; readonly at: number }> = []
  let turn = 0
  let good = 0
  let retries = 0

  const isDown = (server: Server, now: number): boolean => server === servers[0] && now >= downFrom && now < downUntil
  const offer = (server: Server, attempt: Attempt, now: number): void => {
    if (isDown(server, now)) fail(attempt, now, false)
    else server.serving.push({ attempt, until: now + exponential(meanService) })
  }
  const send = (request: Request, now: number): void => {
    const attempt: Attempt = { request, sentAt: now, over: false }
    timers.push(attempt)
    const server = servers[turn++ % 2]!
    if (server.serving.length < slots) offer(server, attempt, now)
    else server.queue.push(attempt)
  }
  const begin = (request: Request, token: object, now: number): void => {
    const wait = request.client.start(now, token)
    if (wait > 0) {
      waiting.push({ request, token, at: now + wait })
    } else {
      retries++
      send(request, now)
    }
  }
  const fail = (attempt: Attempt, now: number, timedOut: boolean): void => {
    if (attempt.over) return
    attempt.over = true
    const { request } = attempt
    const token = request.client.failed(now, request, timedOut)
    if (token === undefined) return
    request.retries++
    begin(request, token, now)
  }
  const complete = (server: Server, index: number, now: number): void => {
    const { attempt } = server.serving[index]!
    server.serving.splice(index, 1)
    if (!attempt.over) {
      attempt.over = true
      if (now > end - 10_000) good++
      attempt.request.client.succeeded(now)
    }
    while (server.serving.length < slots && server.head < server.queue.length) {
      offer(server, server.queue[server.head++]!, now)
    }
  }

  const arrive = (now: number): void => {
    const client = clients[Math.floor(draw.nextDoubleUnsafe() * clients.length)]!
    client.request(now)
    send({ client, retries: 0, ceiling: 3 }, now)
  }
  const nextOf = <A>(all: ReadonlyArray<A>, at: (one: A) => number): number => {
    let next = -1
    for (let index = 0; index < all.length; index++) {
      if (next < 0 || at(all[index]!) < at(all[next]!)) next = index
    }
    return next
  }
  let arrival = exponential(1000 / 70)
  for (;;) {
    while (firstTimer < timers.length && timers[firstTimer]!.over) firstTimer++
    const timer = firstTimer < timers.length ? timers[firstTimer]!.sentAt + timeout : Infinity
    const [served, otherServed] = [nextOf(servers[0]!.serving, until), nextOf(servers[1]!.serving, until)]
    const service = served < 0 ? Infinity : servers[0]!.serving[served]!.until
    const otherService = otherServed < 0 ? Infinity : servers[1]!.serving[otherServed]!.until
    const patient = nextOf(waiting, (_) => _.at)
    const turnAt = patient < 0 ? Infinity : waiting[patient]!.at
    const now = Math.min(arrival, timer, service, otherService, turnAt)
    if (now > end) return { goodput: good / 10, retries }
    if (now === arrival) {
      arrival = now + exponential(1000 / 70)
      arrive(now)
    } else if (now === timer) {
      fail(timers[firstTimer]!, now, true)
    } else if (now === service) {
      complete(servers[0]!, served, now)
    } else if (now === otherService) {
      complete(servers[1]!, otherServed, now)
    } else {
      const { request, token } = waiting.splice(patient, 1)[0]!
      begin(request, token, now)
    }
  }
}

/** How many of the seeds from `from` on end with less than half of what was asked for. */
export const metastable = (clients: (seed: number) => ReadonlyArray<Client>, from: number, seeds: number): number => {
  let found = 0
  for (let seed = from; seed < from + seeds; seed++) if (simulate(clients(seed), seed).goodput < 35) found++
  return found
}

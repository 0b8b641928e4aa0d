import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { text } from "node:stream/consumers"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { afterEach, assert, beforeAll, beforeEach, describe, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const start = (...args: ReadonlyArray<string>) => startWith({}, ...args)

const running = new Set<ChildProcess>()

const startWith = (env: Readonly<Record<string, string>>, ...args: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, ["examples/checkout/main.ts", ...args], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env }
  })
  running.add(child)
  child.once("exit", () => running.delete(child))
  return child
}

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "reprise-checkout-"))
})
afterEach(() => {
  rmSync(folder, { recursive: true })
})

// What a test has left that failed.
afterEach(async () => {
  for (const child of running) {
    child.kill("SIGCONT")
    child.kill()
    await once(child, "exit")
  }
})

const checkout = async (...args: ReadonlyArray<string>): Promise<Run> => {
  const child = start(...args)
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
  return { code, stdout, stderr }
}

/** The number that a pattern finds in what was printed. */
const number = ({ stdout }: Run, pattern: RegExp): number => {
  const [, digits] = pattern.exec(stdout) ?? []
  assert(digits !== undefined, `nothing printed matches ${pattern}:\n${stdout}`)
  return Number(digits)
}

const requests = (run: Run) => number(run, /requests: (\d+)/)
const retries = (run: Run) => number(run, /of which retries: (\d+)/)
const doubleCharges = (run: Run) => number(run, /double charges: (\d+)/)

const faults = [
  "slow reply",
  "503",
  "429",
  "reset before the charge",
  "reset after the charge",
  "402 card declined",
  "422 malformed"
]

/** What holds whatever the mode. */
const settles = (run: () => Run) => {
  it("ends by itself with code 0 and nothing on stderr", () => {
    assert.strictEqual(run().stderr, "")
    assert.strictEqual(run().code, 0)
  })

  it.each(faults)("meets at least 3 times: %s", (fault) => {
    assert.isAtLeast(number(run(), new RegExp(`(\\d+) × ${fault}\\b`)), 3)
  })

  it("accounts for every order", () => {
    const outcomes = ["charged", "declined", "invalid", "given up"].map((_) =>
      number(run(), new RegExp(`orders: \\d+ = .*?(\\d+) ${_}`))
    )
    assert.strictEqual(number(run(), /orders: (\d+) =/), 60)
    assert.strictEqual(outcomes.reduce((sum, n) => sum + n, 0), 60)
    assert.strictEqual(requests(run()), 60 + retries(run()))
  })

  it("shows every order that something happened to, and says how many others there are", () => {
    const rows = run().stdout.match(/^ {2}\d{5} +\d+ {2}/gm) ?? []
    assert.strictEqual(number(run(), /^(\d+) of 60 orders, those with a story;/m), rows.length)
    assert.strictEqual(number(run(), /; charged at the first attempt: the other (\d+)$/m), 60 - rows.length)
  })

  it("prints no control characters where there is no terminal", () => {
    for (const control of ["\r", "\u001b"]) assert.notInclude(run().stdout, control)
  })
}

describe("checkout", () => {
  let policy: Run
  let naive: Run
  beforeAll(async () => {
    policy = await checkout()
    naive = await checkout("--naive")
  })

  describe("under a policy", () => {
    settles(() => policy)

    it("charges nobody twice", () => {
      assert.strictEqual(doubleCharges(policy), 0)
    })

    it("waits as long as Retry-After asks", () => {
      assert.match(policy.stdout, /429: 1\.\d\d s/)
    })

    it("says what gave up", () => {
      assert.match(policy.stdout, /\d{5} {2}charge gave up after 5 attempts .*ResponseError: 503 from POST/)
    })

    it.each([
      // The policy doubles from 100 ms, drawn from zero: 100, 200, 400, 800 ms.
      [1, "ECONNRESET", 0, 100],
      // The second that was asked for, plus the wait of the policy's own, plus a spread of at most a tenth of the second.
      [2, "429", 1000, 1000 + 200 + 100],
      [3, "503", 0, 400],
      [4, "503", 0, 800]
    ])("waits at retry %i, after %s, between %i and %i ms in virtual time", (retry, after, lowest, highest) => {
      const range = "([\\d.]+) (m?s) to ([\\d.]+) (m?s)"
      const row = new RegExp(`^ {2}${retry} +${after} +${range} +${range}$`, "m").exec(policy.stdout)
      assert(row !== null, policy.stdout)
      const millis = (index: number) => Number(row[index]) * (row[index + 1] === "s" ? 1000 : 1)
      assert.deepEqual([millis(5), millis(7)], [lowest, highest])
      assert.isAtLeast(millis(1), lowest)
      assert.isAtMost(millis(3), highest)
      // Of 100 draws some come near either end.
      assert.isBelow(millis(1), lowest + (highest - lowest) / 4)
      assert.isAbove(millis(3), highest - (highest - lowest) / 4)
    })

    it("sends once what the provider declines or does not understand", () => {
      assert.match(policy.stdout, /refusals: 4 × 402 card declined, 4 × 422 malformed$/m)
    })

    it("keeps within the policy's bounds in virtual time", () => {
      assert.match(policy.stdout, /400 of 400 waits lie within the policy's bounds/)
    })

    it("says how to see the harm", () => {
      assert.include(policy.stdout, "npm start -- --naive")
    })
  })

  describe("naive", () => {
    settles(() => naive)

    it("charges at least 5 times twice", () => {
      assert.isAtLeast(doubleCharges(naive), 5)
    })

    it("sends more requests", () => {
      assert.isAbove(requests(naive), requests(policy))
    })
  })

  it("another seed hits other orders, and charges nobody twice either", async () => {
    const other = await checkout("--seed", "7")
    const hit = ({ stdout }: Run) => stdout.match(/^ {2}\d{5} +\d+ {2}\w+: \d/gm)?.map((_) => _.slice(2, 7))
    assert.strictEqual(doubleCharges(other), 0)
    assert.notDeepEqual(hit(other), hit(policy))
  })

  it.each([
    [["--nonsense"], "--nonsense"],
    [["--seed"], "--seed"],
    [["--seed", "many"], "many"],
    [["--seed", "1.5"], "1.5"],
    [["orders.json"], "orders.json"],
    [["--at", "nowhere"], "nowhere"],
    [["--at", "http://127.0.0.1:1"], "http://127.0.0.1:1"],
    [["--at", "http://127.0.0.1:1", "--seed", "2"], "--seed"],
    [["--provider", "--at", "http://127.0.0.1:1"], "--at"],
    [["--provider", "--naive"], "--naive"],
    [["--kill", "--naive"], "--naive"],
    [["--kill", "--at", "http://127.0.0.1:1"], "--at"],
    [["--kill", "--provider"], "--provider"],
    [["--port", "80"], "--port"],
    [["--ledger", "book.db"], "--ledger"],
    [["--provider", "--port", "65536"], "65536"],
    [["--provider", "--port", "x"], "x"],
    [["--provider", "--ledger", "/nowhere/book.db"], "/nowhere/book.db"]
  ])("refuses %j", async (args, named) => {
    const { code, stderr, stdout } = await checkout(...args)
    assert.strictEqual(code, 2)
    assert.strictEqual(stdout, "")
    assert.include(stderr.split("\n")[0], named)
    assert.notInclude(stderr, "    at ")
  })

  it("refuses a port that is taken", async () => {
    const server = createServer().listen(0, "127.0.0.1")
    await once(server, "listening")
    // An address, as it listens.
    const { port } = server.address() as AddressInfo
    const { code, stderr } = await checkout("--provider", "--port", `${port}`)
    server.close()
    assert.strictEqual(code, 2)
    assert.match(stderr, new RegExp(`^No provider at port ${port}: .*EADDRINUSE`))
    assert.notInclude(stderr, "    at ")
  })

  it("stops when it is interrupted, and says how far it came", async () => {
    const child = start()
    const output = text(child.stdout)
    child.stdout.once("data", () => child.kill("SIGINT"))
    const [code] = await once(child, "close")
    assert.strictEqual(code, 130)
    assert.match(await output, /Interrupted/)
    assert.match(await output, /double charges: 0/)
  })
})

describe("a provider that is killed in the middle and started again", () => {
  let killed: Run
  beforeAll(async () => {
    killed = await checkout("--kill")
  })

  settles(() => killed)

  it("charges nobody twice, and every order that can be charged", () => {
    assert.strictEqual(doubleCharges(killed), 0)
    assert.strictEqual(number(killed, /= (\d+) charged/), 51)
  })

  it("prints what was in doubt, and how it was settled", () => {
    const heading = /^Killed after (\d+) charges \(SIGKILL\), and started again; in doubt: (\d+) orders$/m
    const [, charges, doubts] = heading.exec(killed.stdout) ?? []
    assert.isAtLeast(Number(charges), 20)
    assert.isBelow(Number(charges), 51)
    // Eight orders are at the provider at a time, and each is most of it in the handler.
    assert.isAtLeast(Number(doubts), 1)
    assert.isAtMost(Number(doubts), 8)
    const settled = /^ {2}\d{5} {2}the ledger has (?:the charge: its receipt is the answer|none: charged now, once)$/gm
    assert.lengthOf(killed.stdout.match(settled) ?? [], Number(doubts))
  })

  it("was gone for a while", () => {
    assert.include(killed.stdout, "ECONNREFUSED")
  })
})

describe("a provider that is to be killed", () => {
  it("and cannot start is the end, and leaves nothing behind", async () => {
    // The shop makes a folder there, and SQLite opens no file with so long a name.
    const deep = join(folder, ...Array.from({ length: 3 }, () => "d".repeat(200)))
    mkdirSync(deep, { recursive: true })
    const child = startWith({ TMPDIR: deep }, "--kill")
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
    assert.strictEqual(code, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, /unable to open database file/)
    assert.match(stderr, /^The provider has ended \(2\) before it said where it is\.$/m)
    assert.notInclude(stderr, "    at ")
    assert.deepEqual(readdirSync(deep), [])
  })

  it.each([
    ["has said where the provider is", "http:"],
    ["has settled 15 orders", "15 of 60 orders settled"],
    ["has settled 30 orders", "30 of 60 orders settled"]
  ])("leaves nothing behind when the shop is interrupted once it %s", async (_, shown) => {
    const child = startWith({ TMPDIR: folder }, "--kill")
    const closed = once(child, "close")
    let output = ""
    for await (const chunk of child.stdout.setEncoding("utf8")) {
      output += String(chunk)
      if (child.killed || !output.includes(shown)) continue
      assert.lengthOf(readdirSync(folder), 1)
      child.kill("SIGINT")
    }
    assert.deepEqual(await closed, [130, null])
    assert.deepEqual(readdirSync(folder), [])
    const [url] = /http:[^\s,]+/.exec(output) ?? []
    const answers = await fetch(`${url}/ledger`).then(() => true, (error: Error) => error.cause)
    assert.propertyVal(answers, "code", "ECONNREFUSED")
  })
})

it("a provider that was frozen for longer than its lease, and comes back, charges nobody again", async () => {
  const file = join(folder, "ledger.db")
  const provider = async () => {
    const child = start("--provider", "--ledger", file)
    const [said] = await once(child.stdout, "data")
    return { child, url: /http:[^\s,]+/.exec(String(said))?.[0] ?? assert.fail(`No URL: ${said}`) }
  }
  const charge = (url: string, order: number) =>
    fetch(`${url}/charges/${order}`, {
      method: "POST",
      body: JSON.stringify({ amount: 100, currency: "EUR", card: "4242" }),
      headers: { "idempotency-key": `"order-${order}"`, "content-type": "application/json" }
    })
  const one = await provider()
  const other = await provider()
  using book = new DatabaseSync(file)
  const count = (from: string) => book.prepare(`SELECT count(*) AS n FROM ${from}`).get()?.["n"]
  const charges = (order: number) => count(`entries WHERE event = 'charge' AND "order" = '${order}'`)

  // Until one is frozen while its bank takes a while, before the charge.
  let order = 0
  let first: Promise<Response>
  while (true) {
    first = charge(one.url, ++order)
    while (count("reprise_idempotency") !== order) await setTimeout(1)
    await setTimeout(10)
    one.child.kill("SIGSTOP")
    if (charges(order) === 0) break
    one.child.kill("SIGCONT")
    await first
  }
  while ((await charge(other.url, order)).status !== 200) await setTimeout(100)
  one.child.kill("SIGCONT")
  assert.oneOf((await first).status, [200, 500])
  assert.strictEqual(charges(order), 1)
})

interface Statement {
  readonly requests: number
  readonly charged: number
  readonly declined: number
  readonly invalid: number
  readonly givenUp: number
  readonly doubleCharges: number
  readonly orders: ReadonlyArray<{ readonly id: string; readonly requests: number; readonly charges: number }>
}

describe("a shop that is killed half-way and started again, at a provider that lives on", () => {
  let provider: ReturnType<typeof start>
  let closed: Promise<unknown>
  let url: string
  beforeEach(async () => {
    provider = start("--provider")
    closed = once(provider, "close")
    const [said] = await once(provider.stdout, "data")
    url = /http:[^\s,]+/.exec(String(said))?.[0] ?? assert.fail(`No URL: ${said}`)
  })
  afterEach(async () => {
    provider.kill()
    await closed
  })

  // What the provider itself says of its book.
  const statement = async (): Promise<Statement> => (await fetch(`${url}/ledger`)).json() as Promise<Statement>

  /** Starts a shop, and kills it when so many orders have been charged. */
  const killedAt = async (charged: number, ...args: ReadonlyArray<string>): Promise<Statement> => {
    const shop = start("--at", url, ...args)
    const closed = once(shop, "close")
    while ((await statement()).charged < charged) await setTimeout(5)
    shop.kill("SIGKILL")
    assert.deepEqual(await closed, [null, "SIGKILL"])
    return statement()
  }

  it("charges every order once", async () => {
    for (const charged of [1, 15, 30, 45]) await killedAt(charged)
    const before = await statement()
    const last = await checkout("--at", url)
    const after = await statement()

    assert.isBelow(before.charged, after.charged)
    assert.strictEqual(last.code, 0)
    assert.strictEqual(doubleCharges(last), 0)
    assert.strictEqual(after.doubleCharges, 0)
    assert.deepEqual(after.orders.filter(({ charges }) => charges > 1), [])
    assert.deepEqual(
      [after.charged, after.declined, after.invalid, after.givenUp, after.orders.length],
      [51, 4, 4, 1, 60]
    )
    // It was not spared the question: what had been charged was asked for again.
    const again = new Map(after.orders.map(({ id, requests }) => [id, requests]))
    for (const { id, requests } of before.orders) assert.isAbove(again.get(id) ?? 0, requests)
  })

  it("charges again all that was charged, without keys", async () => {
    const before = await killedAt(25, "--naive")
    const last = await checkout("--at", url, "--naive")
    assert.strictEqual(last.code, 0)
    assert.isAtLeast((await statement()).doubleCharges, before.charged)
  })

  it("says what it knows when the provider goes and stays away", async () => {
    const shop = start("--at", url)
    const [stdout, stderr, ended] = [text(shop.stdout), text(shop.stderr), once(shop, "close")]
    while ((await statement()).charged < 46) await setTimeout(5)
    provider.kill("SIGKILL")
    assert.deepEqual(await ended, [1, null])
    assert.match(await stderr, /^The provider at http:\S+ does not answer any more\. The shop knows of \d+ orders/m)
    assert.notInclude(await stderr, "    at ")
    assert.notInclude(await stdout, "    at ")
  })

  it("the provider says at its end what is in its book", async () => {
    const output = text(provider.stdout)
    await checkout("--at", url)
    provider.kill("SIGINT")
    assert.match(await output, /orders: 60 = 51 charged/)
  })
})

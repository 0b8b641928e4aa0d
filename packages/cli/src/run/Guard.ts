/**
 * A process that outlives this one for a moment when this one is killed, and then kills what it has started.
 *
 * Nobody can do anything at their own SIGKILL, but a pipe is closed: that is what the guard waits for.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"

/** Remembers the group that it was told last. Zero is none. */
const script = "group=0\n" +
  "while read -r line; do group=$line; done\n" +
  "[ \"$group\" = 0 ] || kill -s KILL -- \"-$group\"\n"

export interface Guard {
  /** This group must not outlive this process. */
  readonly watch: (group: number) => void
  /** There is no group. */
  readonly rest: () => void
}

/** Where there is no `/bin/sh` there is no guard, and everything else works. */
export const make: Effect.Effect<Guard, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    // In a session of its own: what is sent to this one's group does not reach it.
    const child = spawn("/bin/sh", ["-c", script], { detached: true, stdio: ["pipe", "ignore", "ignore"] })
    child.on("error", () => {})
    child.stdin.on("error", () => {})
    child.unref()
    const tell = (group: number) => child.stdin.write(`${group}\n`)
    return { watch: tell, rest: () => tell(0), end: () => child.stdin.end("0\n") }
  }),
  ({ end }) => Effect.sync(end)
)

/** How long what a run needs beside its attempts may take, in milliseconds. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Settings } from "./settings.ts"
import { beforeDeadline, monotonicMillis } from "./time.ts"

/** How long an attempt may take. */
export const attemptMillis = ({ attemptTimeout }: Pick<Settings, "attemptTimeout">): number =>
  attemptTimeout === undefined ? Infinity : Duration.toMillis(attemptTimeout)

// A caller that gets the response as it is waits for its body, which may have no end.
const longestLook = 1_000

/**
 * How long the body of a failing response may be waited for, in an attempt that began at so many monotonic
 * milliseconds: neither that nor the caller's deadline is to end of it.
 */
export const look = (settings: Pick<Settings, "attemptTimeout">, began: number): Effect.Effect<number> =>
  Effect.flatMap(monotonicMillis, (now) =>
    Effect.map(
      beforeDeadline(attemptMillis(settings) - (now - began)),
      (left) => Math.max(0, Math.min(longestLook, left / 2))
    ))

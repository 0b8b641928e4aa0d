import type * as Duration from "effect/Duration"
import type * as Layer from "effect/Layer"
import type * as Redis from "effect/persistence/Redis"
import * as redisLayer from "./internal/budget/redis/layer.ts"
import * as redisOptions from "./internal/budget/redis/options.ts"
import type { RatioOptions } from "./RetryBudget.ts"

export interface RedisOptions extends RatioOptions {
  readonly name: string
  readonly timeout?: Duration.Input | undefined
  readonly flush?: Duration.Input | undefined
  readonly whileAway?: "share" | "deny" | undefined
}

export const layerRedis = (options: RedisOptions): Layer.Layer<never, never, Redis.Redis> =>
  redisLayer.make(redisOptions.settings("RetryBudget.layerRedis", options))

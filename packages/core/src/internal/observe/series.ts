import * as Context from "effect/Context"
import * as Metric from "effect/Metric"

/** A series that is updated without looking it up again. */
export interface Series<in Input> {
  readonly update: (input: Input) => void
  readonly modify: (input: Input) => void
}

/**
 * The series of a metric in the registry of a context, made unless it is there. An update through the metric would look
 * for the series each time, by a long key: on the success path that is more than all the rest.
 *
 * The series stays in the registry as every metric's does: a counter that went away with the layer would go before an
 * exporter's last look.
 */
export const series = <Input, State>(
  metric: Metric.Metric<Input, State>,
  context: Context.Context<never>
): Series<Input> => {
  const registry = Context.get(context, Metric.MetricRegistry)
  // Effect makes a series, and its key, in whatever registry it is given.
  const made: Metric.MetricRegistry = new Map()
  metric.valueUnsafe(Context.add(context, Metric.MetricRegistry, made))
  for (const [key, metadata] of made) {
    const present = registry.get(key)
    if (present === undefined) registry.set(key, metadata)
    const { modify, update } = (present ?? metadata).hooks
    return { update: (input) => update(input, context), modify: (input) => modify(input, context) }
  }
  // A metric that keeps its series elsewhere.
  return {
    update: (input) => metric.updateUnsafe(input, context),
    modify: (input) => metric.modifyUnsafe(input, context)
  }
}

/** The text that Prometheus scrapes, as data. */

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const label = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)",?/y

const labelsOf = (text: string): Record<string, string> => {
  const labels: Record<string, string> = {}
  label.lastIndex = 0
  for (let match = label.exec(text); match !== null; match = label.exec(text)) labels[match[1]!] = match[2]!
  return labels
}

/** Every sample of a text. Fails on a line that is none. */
export const parse = (text: string): ReadonlyArray<Sample> =>
  text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
    const match = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line)
    if (match === null || Number.isNaN(Number(match[3]!.replace("+Inf", "Infinity")))) {
      throw new Error(`No sample: ${line}`)
    }
    return { name: match[1]!, labels: labelsOf(match[2] ?? ""), value: Number(match[3]) }
  })

/** The value of the one sample with this name and these labels. */
export const value = (samples: ReadonlyArray<Sample>, name: string, labels: Record<string, string> = {}) => {
  const found = samples.filter((sample) =>
    sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value)
  )
  return found.length === 1 ? found[0]!.value : found
}

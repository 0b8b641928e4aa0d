/** A part of a wait's distribution: `width` milliseconds from `from` on, in equal cells of so much each, spread evenly. */
interface Part {
  readonly from: number
  readonly width: number
  readonly weights: ReadonlyArray<number>
}

/** A wait as a mixture of parts, which begin where the wait is shortest and end where it is longest. */
export type Step = ReadonlyArray<Part>

export const isEqual = (a: Step, b: Step): boolean =>
  a.length === b.length && a.every(({ from, weights, width }, n) => {
    const other = b[n]!
    return from === other.from && width === other.width &&
      weights.every((weight, cell) => weight === other.weights[cell])
  })

export const mean = (step: Step): number =>
  step.reduce(
    (sum, { from, weights, width }) =>
      weights.reduce((sum, weight, cell) => sum + weight * (from + (cell + 0.5) * width / weights.length), sum),
    0
  )

export const variance = (step: Step): number => {
  const middle = mean(step)
  return step.reduce((sum, { from, weights, width }) => {
    const cell = width / weights.length
    return weights.reduce(
      (sum, weight, n) => sum + weight * ((from + (n + 0.5) * cell - middle) ** 2 + cell ** 2 / 12),
      sum
    )
  }, 0)
}

interface Piece {
  readonly from: number
  readonly width: number
  readonly weight: number
}

/**
 * What a wait of one draw is made of: it never falls when its draw rises, and is straight but for some corners. They
 * are looked for by halving, `depth` times, where the middle is not on the line.
 */
const straight = (wait: (draw: number) => number, depth: number): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  const least = wait(0)
  const most = wait(1)
  const close = 1e-9 * (most - least)
  const search = (start: number, from: number, end: number, to: number, depth: number): void => {
    const middle = (start + end) / 2
    const between = wait(middle)
    if (depth > 0 && Math.abs(between - (from + to) / 2) > close) {
      search(start, from, middle, between, depth - 1)
      search(middle, between, end, to, depth - 1)
      return
    }
    const last = pieces[pieces.length - 1]
    const [width, weight] = [to - from, end - start]
    // Pieces of equal density belong together: most waits are one.
    if (last === undefined || Math.abs(last.width * weight - width * last.weight) > close * weight) {
      pieces.push({ from, width, weight })
    } else pieces[pieces.length - 1] = { from: last.from, width: last.width + width, weight: last.weight + weight }
  }
  // Not halves, so that corners on either side of the middle do not make up for each other.
  const near = 0.4
  const inside = wait(near)
  search(0, least, near, inside, depth)
  search(near, inside, 1, most, depth)
  return pieces
}

/** Every choice of one of the values for each of so many draws. */
export const choices = <A>(values: ReadonlyArray<A>, draws: number): ReadonlyArray<ReadonlyArray<A>> =>
  draws === 0 ? [[]] : choices(values, draws - 1).flatMap((chosen) => values.map((value) => [...chosen, value]))

/** How closely a wait of several draws is looked at: points for one draw and for two, halvings, and cells. */
interface Detail {
  readonly one: number
  /** Neighbours in the Fibonacci sequence. */
  readonly two: readonly [count: number, next: number]
  readonly halvings: number
  readonly cells: number
}

/** The more waits there are, the less is to be seen of each in their sum. */
const detailFor = (waits: number): Detail =>
  waits <= 3
    ? { one: 64, two: waits === 1 ? [987, 610] : [377, 233], halvings: 10, cells: 128 }
    : waits <= 100
    ? { one: 32, two: [89, 55], halvings: 8, cells: 128 }
    : { one: 8, two: [34, 21], halvings: 4, cells: 64 }

/**
 * Points that stand for all of a draw, the middles of equal parts, or for all of two: a Fibonacci lattice, folded so
 * that its opposite sides meet.
 */
const spreadOver = (draws: number, { one, two: [count, next] }: Detail): ReadonlyArray<ReadonlyArray<number>> => {
  const fold = (x: number) => 1 - Math.abs(2 * (x % 1) - 1)
  return draws === 1
    ? Array.from({ length: one }, (_, n) => [(n + 0.5) / one])
    : Array.from({ length: count }, (_, n) => [fold((n + 0.5) / count), fold((n * next + 0.5) / count)])
}

/** A wait of several draws, counted in equal cells; what is the shortest or the longest of all, in one of no width. */
const counted = (wait: (draws: ReadonlyArray<number>) => number, draws: number, detail: Detail): Step => {
  const { cells, halvings } = detail
  const low = wait(Array.from({ length: draws }, () => 0))
  const high = wait(Array.from({ length: draws }, () => 1))
  const size = (high - low) / cells
  const inside = Array.from({ length: cells }, () => 0)
  let shortest = 0
  let longest = 0
  const before = spreadOver(draws - 1, detail)
  for (const chosen of before) {
    for (const piece of straight((draw) => wait([...chosen, draw]), halvings)) {
      const { from, width } = piece
      const weight = piece.weight / before.length
      const to = from + width
      if (width > 0) {
        for (let cell = Math.floor((from - low) / size); cell < cells && low + cell * size < to; cell++) {
          const start = Math.max(from, low + cell * size)
          inside[cell]! += weight * (Math.min(to, low + (cell + 1) * size) - start) / width
        }
      } else if (to >= high) longest += weight
      else if (to <= low) shortest += weight
      else {
        // Between the middles of two cells, so that the mean stays what it is.
        const at = Math.min(Math.max((to - low) / size - 0.5, 0), cells - 1)
        const cell = Math.min(Math.floor(at), cells - 2)
        inside[cell]! += weight * (cell + 1 - at)
        inside[cell + 1]! += weight * (at - cell)
      }
    }
  }
  return [
    { from: low, width: 0, weights: [shortest] },
    { from: low, width: high - low, weights: inside },
    { from: high, width: 0, weights: [longest] }
  ].filter(({ weights, width }) => width > 0 || weights[0]! > 0)
}

/** The most draws of one wait that are told apart. */
export const mostDraws = 3

/** The distribution of what `wait` makes of so many draws, each between 0 and 1; one of so many waits. */
export const mixture = (wait: (draws: ReadonlyArray<number>) => number, draws: number, waits: number): Step =>
  draws === 0
    ? [{ from: wait([]), width: 0, weights: [1] }]
    : draws === 1
    ? straight((draw) => wait([draw]), 30).map(({ from, weight, width }) => ({ from, width, weights: [weight] }))
    : counted(wait, draws, detailFor(waits))

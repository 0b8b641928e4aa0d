/**
 * The sum of waits that depend on each other, on a grid of its own: the joint distribution of the remembered wait (a
 * row for each point) and the sum so far (a column for each point of a grid that moves along with it).
 */
import { type Added, type Draw, geometric } from "./chain.ts"

/**
 * Moves a mass to a sum: shares it among the nearest four points of the grid, some of it negative, so that the mean of
 * the sum, of its square and of its cube stay what they are.
 */
const mover = (grid: Float64Array) => {
  const r = grid[1]! / grid[0]!
  const low = 1 / r
  const square = r * r
  const first = 1 / ((low - 1) * (low - r) * (low - square))
  const second = 1 / ((1 - low) * (1 - r) * (1 - square))
  const third = 1 / ((r - low) * (r - 1) * (r - square))
  const fourth = 1 / ((square - low) * (square - 1) * (square - r))
  const most = grid.length - 3
  const inverse = grid.map((sum) => 1 / sum)
  return (row: Float64Array, sums: Float64Array, wait: number, weight: number, next: Float64Array): void => {
    let at = 1
    for (let j = 0; j < sums.length; j++) {
      const mass = row[j]! * weight
      if (mass === 0) continue
      const sum = sums[j]! + wait
      while (at < most && sum >= grid[at + 1]!) at++
      // What has left the grid is too rare to count, and stays at its edge.
      const x = Math.min(Math.max(sum * inverse[at]!, low), square)
      const below = mass * (x - low) * (x - 1)
      const above = mass * (x - r) * (x - square)
      next[at - 1]! += first * (x - 1) * above
      next[at]! += second * (x - low) * above
      next[at + 1]! += third * (x - square) * below
      next[at + 2]! += fourth * (x - r) * below
    }
  }
}

const rare = 1e-6

/** Between which of them masses are not rare. */
const window = (sizes: Float64Array): readonly [first: number, last: number] => {
  let first = 0
  let last = sizes.length - 1
  for (let sum = sizes[first]!; sum < rare; sum += sizes[first]!) first++
  for (let sum = sizes[last]!; sum < rare; sum += sizes[last]!) last--
  return [first, last]
}

/** A sum as masses on a grid, in ascending order. */
export interface Sums {
  readonly sums: Float64Array
  readonly shares: Float64Array
}

/** The remembered wait is the first point in the beginning. */
export const sum = (draw: Draw, added: ReadonlyArray<Added>, columns: number): Sums => {
  const most = added[0]!.waits[0]!.length
  let sums: Float64Array = new Float64Array(1)
  let masses: Float64Array = new Float64Array(most)
  masses[0] = 1
  let rows = 1
  for (const { waits, weights } of added) {
    const width = sums.length
    rows = draw(masses, width, rows)
    const byPoint = new Float64Array(rows)
    const bySum = new Float64Array(width)
    for (let i = 0, at = 0; i < rows; i++) {
      let total = 0
      for (let j = 0; j < width; j++) {
        const mass = Math.abs(masses[at++]!)
        total += mass
        bySum[j]! += mass
      }
      byPoint[i] = total
    }
    const [first, last] = window(bySum)
    const [lowest, highest] = window(byPoint)
    let least = Infinity
    let longest = 0
    for (const wait of waits) {
      for (let i = lowest; i <= highest; i++) {
        least = Math.min(least, wait[i]!)
        longest = Math.max(longest, wait[i]!)
      }
    }
    const high = sums[last]! + longest
    const low = Math.max(sums[first]! + least, high * 1e-12)
    // Closer points could not be told apart in what follows.
    const grid = low < high * (1 - 1e-6) ? geometric(low, high, columns) : Float64Array.of(high)
    const next = new Float64Array(most * grid.length)
    const move = mover(grid)
    for (let i = 0; i < rows; i++) {
      if (byPoint[i] === 0) continue
      const row = masses.subarray(i * width, (i + 1) * width)
      const to = next.subarray(i * grid.length, (i + 1) * grid.length)
      if (grid.length === 1) to[0] = row.reduce((sum, mass) => sum + mass, 0)
      else weights.forEach((weight, k) => move(row, sums, waits[k]![i]!, weight, to))
    }
    sums = grid
    masses = next
  }
  const shares = new Float64Array(sums.length)
  for (let at = 0; at < masses.length; at++) shares[at % sums.length]! += masses[at]!
  return { sums, shares }
}

/** The function that gives the share of the sums that are at most so long. */
export const shares = ({ shares, sums }: Sums): (x: number) => number => {
  // Half of what is about a sum is below it; of the shortest and the longest sum, only as much as of their neighbours.
  const last = shares.length - 1
  let share = 0
  const below = shares.map((mass, j) => {
    share += mass
    if (j === 0) return share - Math.min(mass, shares[1] ?? 0) / 2
    return share - (j === last ? mass - Math.min(mass, shares[last - 1]!) / 2 : mass / 2)
  })
  return (x) => {
    if (!(x >= sums[0]!)) return 0
    let low = 0
    let high = sums.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if (sums[middle]! <= x) low = middle
      else high = middle
    }
    if (high === sums.length) return 1
    return below[low]! + (x - sums[low]!) / (sums[high]! - sums[low]!) * (below[high]! - below[low]!)
  }
}

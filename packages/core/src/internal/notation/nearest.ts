/** How many single-character changes lead from one word to the other; a swap of neighbours is one. */
const distance = (from: string, to: string): number => {
  let beforeLast: Array<number> = []
  let last = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const row = [i]
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1]
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]) {
        best = Math.min(best, beforeLast[j - 2]! + 1)
      }
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return last[to.length]!
}

/** The known word that a misspelt one is closest to, when it is close at all. */
export const nearest = (word: string, known: ReadonlyArray<string>): string | undefined => {
  if (word.length > 40) return undefined
  let best: string | undefined
  let least = Math.max(1, Math.floor(word.length / 3)) + 1
  for (const candidate of known) {
    const changes = distance(word.toLowerCase(), candidate.toLowerCase())
    if (changes < least) {
      least = changes
      best = candidate
    }
  }
  return best
}

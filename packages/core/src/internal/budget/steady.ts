/**
 * Time that never goes back, for what must go on whatever its clock does. A budget in a constant outlives clocks: a
 * program uses it and then a test with a clock of its own, or two tests that both begin at 0.
 */

// Who looked at the clock no longer ago than this, in milliseconds, is late and has no other clock.
const late = 1000

/**
 * From a clock's time to the meter's own. Where a clock shows less than one before it, time goes on from where it was,
 * as that clock goes on. It stands still for one who is only late, and runs ahead for nobody.
 */
export const make = (): (now: number) => number => {
  // Every request asks: numbers that change are cheaper in an object than in variables, each of which would be boxed.
  const self = {
    time: -Infinity,
    /** What the clock shows that shows most, and how far the time is ahead of it. */
    most: -Infinity,
    ahead: 0,
    /** What another one has shown, which shows less, and how far the time is ahead of that; `Infinity` without one. */
    less: Infinity,
    aheadOfLess: 0
  }
  return (now) => {
    let time: number
    if (now >= self.most - late) {
      if (now > self.most) self.most = now
      self.less = Infinity
      // Another one has gone on meanwhile, further than those who are late could.
      if (self.time - self.most - self.ahead > late) self.ahead = self.time - self.most
      time = now + self.ahead
    } else {
      if (now < self.less - late) {
        self.aheadOfLess = self.time - now
        self.less = now
      } else if (now > self.less) self.less = now
      time = now + self.aheadOfLess
    }
    return time > self.time ? self.time = time : self.time
  }
}

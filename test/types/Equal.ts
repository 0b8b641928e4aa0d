/** Whether two types are one and the same: not merely assignable to each other, and `any` equals nothing but `any`. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false

/** Nothing is assignable to it; it stands in the compiler's message. */
export interface Differs<Actual, Expected> {
  readonly actual: Actual
  readonly expected: Expected
}

type Exactly<Expected> = <Actual>(
  value: Actual & (Equal<Actual, Expected> extends true ? unknown : Differs<Actual, Expected>)
) => void

/** Does not compile unless the type of the value is exactly `Expected`: `is<Expected>()(value)`. */
export const is = <Expected>(): Exactly<Expected> => () => undefined

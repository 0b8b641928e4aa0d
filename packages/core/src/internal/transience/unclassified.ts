type Predicate = (error: never) => boolean

/** For the `isTransient` of each classifier its `isUnknown`, so that a policy's predicate tells what it is made of. */
const unknownBy = /* @__PURE__ */ new WeakMap<Predicate, (error: unknown) => boolean>()

export const remember = (isTransient: Predicate, isUnknown: (error: unknown) => boolean): void => {
  unknownBy.set(isTransient, isUnknown)
}

/** Whether one of the predicates asked a classifier that knew nothing of the error. */
export const isUnclassified = (predicates: ReadonlyArray<Predicate>, error: unknown): boolean =>
  predicates.some((predicate) => unknownBy.get(predicate)?.(error) === true)

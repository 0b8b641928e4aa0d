/** What is there for an object, made once. */
export const remembered = <K extends object, A>(make: (key: K) => A): (key: K) => A => {
  const known = new WeakMap<K, A>()
  return (key) => {
    let made = known.get(key)
    if (made === undefined) known.set(key, made = make(key))
    return made
  }
}

/** Creates a value at its first use, once: for values that cost time or memory and that most runs do not need. */
export function lazily<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

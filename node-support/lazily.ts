/** What is made when it is asked for first, and once: for what takes time or memory that most runs of a program can do without. */
export function lazily<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

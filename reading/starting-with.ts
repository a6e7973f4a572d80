/** An iteration again from its beginning, of which one step was taken already. */
export async function* startingWith(
  begun: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  try {
    for (let piece = begun; !piece.done; piece = await rest.next()) yield piece.value;
  } finally {
    await rest.return?.();
  }
}

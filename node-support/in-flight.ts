/**
 * Does `work` for every item, at most `limit` at a time. After the first failure no further item is begun; the ones under way are
 * waited for, so that cleaning up afterwards meets no running work. Then that failure is thrown.
 */
export async function forEachInFlight<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = Symbol.asyncIterator in items ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = await queue.next(); !next.done && failures.length === 0; next = await queue.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: limit }, worker));
  // The source of the items may fail, too.
  const failure = ended.find((end) => end.status === 'rejected');
  if (failures.length > 0 || failure) {
    await queue.return?.();
    throw failures.length > 0 ? failures[0] : failure?.reason;
  }
}

/**
 * Does `work` for every item, at most `limit` at a time. After the first failure no further item is begun; the ones under way are
 * waited for, so that whoever cleans up afterwards is alone. Then that failure is thrown.
 */
export async function forEachInFlight<Item>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = items[Symbol.iterator]();
  const failures: unknown[] = [];
  const worker = async () => {
    for (let next = queue.next(); !next.done && failures.length === 0; next = queue.next()) {
      await work(next.value).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  if (failures.length > 0) throw failures[0];
}

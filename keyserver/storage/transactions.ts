import { AsyncLocalStorage } from 'node:async_hooks';
import type { Topic } from './memory.ts';

interface Current<Connection> {
  readonly connection: Connection;
  readonly topics: Set<Topic>;
  isOpen: boolean;
}

/** The transactions of one process: one after the other, in the order in which they came, each with a connection. */
export class Transactions<Connection> {
  #last: Promise<unknown> = Promise.resolve();
  readonly #current = new AsyncLocalStorage<Current<Connection>>();

  /** Works when everything that came earlier is done. */
  takeTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /**
   * Does `work` inside: what it waits for belongs to a transaction on `connection`.
   *
   * @param noteChanges - done last, inside too, where `work` has changed what is kept in memory
   */
  async within<Result>(
    connection: Connection,
    work: () => Promise<Result>,
    noteChanges: (topics: ReadonlySet<Topic>) => Promise<void>,
  ): Promise<Result> {
    const current: Current<Connection> = { connection, topics: new Set(), isOpen: true };
    try {
      return await this.#current.run(current, async () => {
        const result = await work();
        if (current.topics.size > 0) await noteChanges(current.topics);
        return result;
      });
    } finally {
      current.isOpen = false;
    }
  }

  /** The connection of the transaction that the caller belongs to. */
  connection(): Connection | undefined {
    const current = this.#current.getStore();
    if (current?.isOpen === false) throw new Error('a transaction was not waited for, and has ended');
    return current?.connection;
  }

  /** Notes what the transaction that the caller belongs to changes. */
  noteChange(topic: Topic): void {
    this.#current.getStore()?.topics.add(topic);
  }

  /** Resolves when all that have come are done. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

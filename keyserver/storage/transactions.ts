import { AsyncLocalStorage } from 'node:async_hooks';

/** The transactions of one process: one after the other, in the order in which they came, each with a connection. */
export class Transactions<Connection> {
  #last: Promise<unknown> = Promise.resolve();
  readonly #current = new AsyncLocalStorage<{ readonly connection: Connection; isOpen: boolean }>();

  /** Works when everything that came earlier is done. */
  takeTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Does `work` inside: what it waits for belongs to a transaction on `connection`. */
  async within<Result>(connection: Connection, work: () => Promise<Result>): Promise<Result> {
    const current = { connection, isOpen: true };
    try {
      return await this.#current.run(current, work);
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

  /** Resolves when all that have come are done. */
  async idle(): Promise<void> {
    await this.#last;
  }
}

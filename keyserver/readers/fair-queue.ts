import { KeyServerError } from '../errors.ts';

export interface QueueBounds {
  /** Works that run at a time. */
  readonly running: number;
  /** Works that wait: of one address, and of all. */
  readonly waitingPerAddress: number;
  readonly waiting: number;
}

interface Turn {
  readonly begin: () => void;
  readonly refuse: (error: KeyServerError) => void;
}

/**
 * Costly works, a few at a time, address by address: however many an address has waiting, another one waits for one work of each. Where the
 * queue is full, the address that has most waiting gives up its newest.
 */
export class FairQueue {
  readonly #bounds: QueueBounds;
  /** By address. The first address is next, and goes to the end then. */
  readonly #waiting = new Map<string, Turn[]>();
  #length = 0;
  #running = 0;

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds;
  }

  /**
   * Does `work` in the turn of its address.
   *
   * @throws KeyServerError `busy`, and `work` was not begun; what `work` throws
   */
  async run<Result>(address: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#running < this.#bounds.running) this.#running++;
    else await this.#wait(address);
    try {
      return await work();
    } finally {
      this.#handOn();
    }
  }

  #wait(address: string): Promise<void> {
    const own = this.#waiting.get(address) ?? [];
    const full = own.length >= this.#bounds.waitingPerAddress || this.#length >= this.#bounds.waiting;
    if (full && !this.#makeRoom(own.length + 1)) throw busy();
    return new Promise((begin, refuse) => {
      own.push({ begin, refuse });
      this.#waiting.set(address, own);
      this.#length++;
    });
  }

  /** Turns away the newest of the address that has most waiting, if those are more than `share`. */
  #makeRoom(share: number): boolean {
    const longest = [...this.#waiting.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
    if (this.#length < this.#bounds.waiting || longest.length <= share) return false;
    longest.pop()?.refuse(busy());
    this.#length--;
    return true;
  }

  /** A work that has ended hands its place on. */
  #handOn(): void {
    const [next] = this.#waiting;
    if (!next) return void this.#running--;
    const [address, turns] = next;
    this.#waiting.delete(address);
    if (turns.length > 1) this.#waiting.set(address, turns);
    this.#length--;
    turns.shift()?.begin();
  }
}

function busy(): KeyServerError {
  return new KeyServerError('busy', 'too many people are signing in at this moment');
}

import { KeyServerError } from '../errors.ts';

export interface QueueBounds {
  /** Works that wait: of one address, and of all, for each place. */
  readonly waitingPerAddress: number;
  readonly waitingPerPlace: number;
}

interface Turn<Place> {
  readonly begin: (place: Place) => void;
  readonly refuse: (error: KeyServerError) => void;
}

/**
 * Costly works, one at a time at each place, address by address: however many an address has waiting, another one waits for one work of each. Where
 * the queue is full, the address that has most waiting gives up its newest.
 */
export class FairQueue<Place> {
  readonly #bounds: QueueBounds;
  readonly #places = new Set<Place>();
  /** The first one has been free for longest. */
  readonly #free: Place[] = [];
  /** By address. The first address is next, and goes to the end then. */
  readonly #waiting = new Map<string, Turn<Place>[]>();
  #length = 0;

  constructor(bounds: QueueBounds, places: readonly Place[]) {
    this.#bounds = bounds;
    for (const place of places) this.add(place);
  }

  /** From now on, works are done at this place too. */
  add(place: Place): void {
    this.#places.add(place);
    this.#handOn(place);
  }

  /** No further work begins at this place. What runs there is the caller's to end. */
  remove(place: Place): void {
    this.#places.delete(place);
    const index = this.#free.indexOf(place);
    if (index >= 0) this.#free.splice(index, 1);
  }

  /**
   * Does `work` in the turn of its address, where there is a place.
   *
   * @throws KeyServerError `busy`, and `work` was not begun; what `work` throws
   */
  async run<Result>(address: string, work: (place: Place) => Promise<Result>): Promise<Result> {
    const place = this.#free.shift() ?? (await this.#wait(address));
    try {
      return await work(place);
    } finally {
      this.#handOn(place);
    }
  }

  #wait(address: string): Promise<Place> {
    const own = this.#waiting.get(address) ?? [];
    const full = own.length >= this.#bounds.waitingPerAddress || this.#isFull();
    if (full && !this.#makeRoom(own.length + 1)) throw busy();
    return new Promise((begin, refuse) => {
      own.push({ begin, refuse });
      this.#waiting.set(address, own);
      this.#length++;
    });
  }

  #isFull(): boolean {
    return this.#length >= this.#bounds.waitingPerPlace * this.#places.size;
  }

  /** Turns away the newest of the address that has most waiting, if those are more than `share`. */
  #makeRoom(share: number): boolean {
    const longest = [...this.#waiting.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
    if (!this.#isFull() || longest.length <= share) return false;
    longest.pop()?.refuse(busy());
    this.#length--;
    return true;
  }

  /** A place that is free goes to the next who waits. */
  #handOn(place: Place): void {
    if (!this.#places.has(place)) return;
    const [next] = this.#waiting;
    if (!next) return void this.#free.push(place);
    const [address, turns] = next;
    this.#waiting.delete(address);
    if (turns.length > 1) this.#waiting.set(address, turns);
    this.#length--;
    turns.shift()?.begin(place);
  }
}

/** Said to who has to come again. */
export function busy(): KeyServerError {
  return new KeyServerError('busy', 'too many people are signing in at this moment');
}

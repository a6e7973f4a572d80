import { KeyServerError } from '../errors.ts';

export interface QueueBounds {
  /** Works that wait: of one address, and of all, for each slot. */
  readonly waitingPerAddress: number;
  readonly waitingPerSlot: number;
}

interface Turn<Slot> {
  readonly begin: (slot: Slot) => void;
  readonly refuse: (error: KeyServerError) => void;
}

/**
 * Does costly works, one at a time at each slot, address by address: however many an address has waiting, another waits for one work of each. Where
 * the queue is full, the address that has most waiting gives up its newest.
 */
export class FairQueue<Slot> {
  readonly #bounds: QueueBounds;
  readonly #slots = new Set<Slot>();
  /** The first one has been free for longest. */
  readonly #free: Slot[] = [];
  /** Turns by address. The first address is next, and goes to the end then. */
  readonly #waiting = new Map<string, Turn<Slot>[]>();
  #length = 0;

  constructor(bounds: QueueBounds, slots: readonly Slot[]) {
    this.#bounds = bounds;
    for (const slot of slots) this.add(slot);
  }

  add(slot: Slot): void {
    this.#slots.add(slot);
    this.#handOn(slot);
  }

  /** Begins no further work at this slot. What runs there is the caller's to end. */
  remove(slot: Slot): void {
    this.#slots.delete(slot);
    const index = this.#free.indexOf(slot);
    if (index >= 0) this.#free.splice(index, 1);
  }

  /**
   * Does `work` in the turn of its address, where there is a slot.
   *
   * @throws KeyServerError `busy`, and `work` was not begun; what `work` throws
   */
  async run<Result>(address: string, work: (slot: Slot) => Promise<Result>): Promise<Result> {
    const slot = this.#free.shift() ?? (await this.#wait(address));
    try {
      return await work(slot);
    } finally {
      this.#handOn(slot);
    }
  }

  #wait(address: string): Promise<Slot> {
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
    return this.#length >= this.#bounds.waitingPerSlot * this.#slots.size;
  }

  /** Turns away the newest of the address that has most waiting, if those are more than `share`. */
  #makeRoom(share: number): boolean {
    const longest = [...this.#waiting.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
    if (!this.#isFull() || longest.length <= share) return false;
    longest.pop()?.refuse(busy());
    this.#length--;
    return true;
  }

  /** A slot that is free goes to the next who waits. */
  #handOn(slot: Slot): void {
    if (!this.#slots.has(slot)) return;
    const [next] = this.#waiting;
    if (!next) return void this.#free.push(slot);
    const [address, turns] = next;
    this.#waiting.delete(address);
    if (turns.length > 1) this.#waiting.set(address, turns);
    this.#length--;
    turns.shift()?.begin(slot);
  }
}

/** Tells a client to come again. */
export function busy(): KeyServerError {
  return new KeyServerError('busy', 'too many people are signing in at this moment');
}

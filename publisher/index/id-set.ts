/** A set of small numbers, one bit each: what ten million documents take up is 1.25 MB. */
export class IdSet {
  #bits: Uint8Array;

  /** @param largest - the largest number that is expected */
  constructor(largest: number) {
    this.#bits = new Uint8Array((largest >> 3) + 1);
  }

  add(id: number): void {
    if (id >> 3 >= this.#bits.length) this.#grow(id);
    this.#bits[id >> 3] = (this.#bits[id >> 3] ?? 0) | (1 << (id & 7));
  }

  has(id: number): boolean {
    return ((this.#bits[id >> 3] ?? 0) & (1 << (id & 7))) !== 0;
  }

  #grow(id: number): void {
    const larger = new Uint8Array(Math.max((id >> 3) + 1, 2 * this.#bits.length));
    larger.set(this.#bits);
    this.#bits = larger;
  }
}

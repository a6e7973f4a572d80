/** Reads binary fields one after the other, never beyond the end. */

/** The bytes are not of the form that was looked for. */
export class Malformed extends Error {}

export class Cursor {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get offset(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** @throws Malformed if there are fewer bytes */
  read(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new Malformed('cut');
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  /** An unsigned number of so many bytes. @throws Malformed */
  number(bytes: 1 | 2 | 3): number {
    return this.read(bytes).readUIntBE(0, bytes);
  }

  /** Reads a vector behind a length of so many bytes. @throws Malformed */
  prefixed(bytes: 1 | 2 | 3): Buffer {
    return this.read(this.number(bytes));
  }
}

/** @returns what `read` makes of `bytes`, all of them; `undefined` if they are not of its form */
export function readWhole<Result>(bytes: Buffer, read: (cursor: Cursor) => Result): Result | undefined {
  const cursor = new Cursor(bytes);
  try {
    const result = read(cursor);
    return cursor.isAtEnd ? result : undefined;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

export function number(value: number, bytes: 1 | 2 | 3): Buffer {
  const written = Buffer.alloc(bytes);
  written.writeUIntBE(value, 0, bytes);
  return written;
}

/** Bytes with their length in front. */
export function prefix(bytes: Buffer, lengthBytes: 1 | 2 | 3): Buffer {
  return Buffer.concat([number(bytes.length, lengthBytes), bytes]);
}

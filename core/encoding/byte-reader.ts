import { concat, concatAll, equalBytes } from './bytes.ts';

/** Source of chunks, which may take back the memory of a chunk that is no longer used. */
interface ChunkSource extends AsyncIterator<Uint8Array> {
  spend?(chunk: Uint8Array): void;
}

/** Pieces up to this length are copied out of a chunk whose source wants it back: a head of some hundred bytes would keep all of it. */
const COPIED = 4096;

const NOTHING = /* @__PURE__ */ new Uint8Array(0);

/**
 * Reads a stream of byte chunks in pieces of a wanted length. Holds no more than one piece and one chunk.
 */
export class ByteReader {
  readonly #chunks: ChunkSource;
  #rest: Uint8Array = NOTHING;
  /** The chunk that `#rest` is the end of, if its source wants it back and no part of it was handed out. */
  #own: Uint8Array | undefined;
  #ended = false;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next `length` bytes; `undefined` if the stream ends before. May share memory with the stream's chunk. */
  async read(length: number): Promise<Uint8Array | undefined> {
    if (this.#rest.length >= length || (!(await this.atEnd()) && this.#rest.length >= length))
      return this.#consume(length);
    const piece = new Uint8Array(length);
    return (await this.readInto(piece)) ? piece : undefined;
  }

  /** Fills `target` with the next bytes, as they come, however small the chunks that they come in; `false` if the stream ends before. */
  async readInto(target: Uint8Array): Promise<boolean> {
    for (let filled = 0; filled < target.length; ) {
      if (await this.atEnd()) return false;
      const part = this.#rest.subarray(0, target.length - filled);
      target.set(part, filled);
      filled += part.length;
      this.#rest = this.#rest.subarray(part.length);
      if (this.#rest.length === 0) this.#spend();
    }
    return true;
  }

  /** The bytes up to and with the next `delimiter`; `undefined` if it is not among the next `maximum` bytes. */
  async readThrough(delimiter: number, maximum: number): Promise<Uint8Array | undefined> {
    let found = this.#rest.subarray(0, maximum).indexOf(delimiter);
    while (found < 0 && this.#rest.length < maximum) {
      const chunk = await this.#next();
      if (chunk === undefined) return undefined;
      if (this.#rest.length === 0) this.#begin(chunk);
      else this.#replaceRest(concat(this.#rest, chunk));
      found = this.#rest.subarray(0, maximum).indexOf(delimiter);
    }
    return found < 0 ? undefined : this.#consume(found + 1);
  }

  /** Tells whether the next bytes are `expected`, and takes them only then. */
  async consumeIfEqual(expected: Uint8Array): Promise<boolean> {
    await this.atEnd(); // the first bytes, if any, are there now
    if (this.#rest.length >= expected.length) {
      if (!equalBytes(this.#rest.subarray(0, expected.length), expected)) return false;
      this.#consume(expected.length);
      return true;
    }
    const start = await this.readUpTo(expected.length);
    this.#replaceRest(this.#rest.length === 0 ? start : concat(start, this.#rest));
    if (!equalBytes(start, expected)) return false;
    this.#consume(expected.length);
    return true;
  }

  /** Tells whether nothing is left. Waits for the stream to say so. */
  async atEnd(): Promise<boolean> {
    while (this.#rest.length === 0) {
      const chunk = await this.#next();
      if (chunk === undefined) return true;
      this.#begin(chunk);
    }
    return false;
  }

  /** The next `length` bytes, or all that is left if that is less. */
  async readUpTo(length: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let missing = length; missing > 0 && !(await this.atEnd()); ) {
      const part = this.#consume(Math.min(missing, this.#rest.length));
      missing -= part.length;
      parts.push(part);
    }
    return concatAll(parts);
  }

  /** Yields all that is left, as a stream of chunks. */
  async *remaining(): AsyncGenerator<Uint8Array> {
    if (this.#rest.length > 0) yield this.#consume(this.#rest.length);
    for (let chunk = await this.#next(); chunk !== undefined; chunk = await this.#next()) yield chunk;
  }

  /** Tells the source that nothing more will be read. */
  async cancel(): Promise<void> {
    this.#ended = true;
    await this.#chunks.return?.();
  }

  #spend(): void {
    const own = this.#own;
    this.#replaceRest(NOTHING); // a view of memory that is gone could not be cut any more
    if (own) this.#chunks.spend?.(own);
  }

  #begin(chunk: Uint8Array): void {
    this.#rest = chunk;
    this.#own = this.#chunks.spend && chunk;
  }

  #replaceRest(bytes: Uint8Array): void {
    this.#rest = bytes;
    this.#own = undefined;
  }

  #consume(length: number): Uint8Array {
    const piece = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    if (this.#own !== undefined && length <= COPIED && this.#rest.length > 0) return new Uint8Array(piece);
    this.#own = undefined;
    return piece;
  }

  async #next(): Promise<Uint8Array | undefined> {
    if (this.#ended) return undefined;
    const { done, value } = await this.#chunks.next();
    if (done) this.#ended = true;
    return done ? undefined : value;
  }
}

export async function* streamOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

/** Reads all of a stream, for callers that know it to be small. */
export async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return concatAll(parts);
}

/** Reads all bytes of a stream; `undefined` where there are more than `maximum`, and then reads no further ones. */
export async function readAtMost(chunks: AsyncIterable<Uint8Array>, maximum: number): Promise<Uint8Array | undefined> {
  const reader = new ByteReader(chunks);
  try {
    const bytes = await reader.readUpTo(maximum + 1);
    return bytes.length > maximum ? undefined : bytes;
  } finally {
    await reader.cancel();
  }
}

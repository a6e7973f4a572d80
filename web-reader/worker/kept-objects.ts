/**
 * Objects that were read, as ciphertext, in the browser's Cache: what was read opens without a network. Each stands under the name that its
 * head's hash is in, so another object never takes its place; pages of this origin can change what is kept, so it is verified like anything else.
 * What a reader keeps on purpose lies in a cache of its own, one for each issue, which no sweep looks at.
 */
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { headTargetOf, targetUrlPath } from '../../core/publication/names.ts';
import type { StoredCopy } from '../../reading/payload.ts';

const CACHE = 'wispr-objects';
const ISSUE = 'wispr-issue ';
/** Bytes of the longest object that is kept: a film would push out what else there is. */
const LONGEST = 67_108_864;
/** Objects kept; the ones that came first go. */
const MOST = 2_000;
/** Writes between two looks at their number. */
const SWEEP_AFTER = 50;

let writes = 0;
/** Writes under way, by name: whether they came to a good end. */
const writing = new Map<string, Promise<boolean>>();

/** Names an object that is kept. */
export function nameOf(path: string, { head }: DocumentEntry): string {
  return targetUrlPath(headTargetOf(path), head);
}

/** Finds a kept object; `undefined` where there is none, or the browser does not say. */
export async function findKept(path: string, entry: DocumentEntry): Promise<StoredCopy | undefined> {
  try {
    const found = await caches.match(nameOf(path, entry));
    const blob = await found?.blob();
    return blob && { from: (start, end = blob.size) => piecesOf(blob.slice(start, end)) };
  } catch {
    return undefined;
  }
}

export async function dropKept(path: string, entry: DocumentEntry): Promise<void> {
  for (const cache of await ownCaches()) await (await caches.open(cache)).delete(nameOf(path, entry));
}

/**
 * Makes an object that was just read one that is kept on purpose.
 *
 * @param issue - which it belongs to
 * @returns its length; `undefined` where it was not kept
 */
export async function keepFor(issue: string, path: string, entry: DocumentEntry): Promise<number | undefined> {
  const name = nameOf(path, entry);
  await writing.get(name);
  const [read, own] = await Promise.all([caches.open(CACHE), caches.open(ISSUE + issue)]);
  const found = (await own.match(name)) ?? (await caches.match(name));
  if (found === undefined) return undefined;
  const blob = await found.blob();
  await own.put(name, new Response(blob));
  await read.delete(name);
  return blob.size;
}

/** The names of what was kept for an issue; without one, of what was only read. In the order in which it came. */
export async function namesKept(issue?: string): Promise<string[]> {
  const cache = issue === undefined ? CACHE : ISSUE + issue;
  const requests = (await caches.has(cache)) ? await (await caches.open(cache)).keys() : [];
  return requests.map(({ url }) => new URL(url).pathname);
}

/** @param issue - `undefined`: everything, also what was only read */
export async function removeKept(issue?: string): Promise<void> {
  for (const cache of issue === undefined ? await ownCaches() : [ISSUE + issue]) await caches.delete(cache);
}

async function ownCaches(): Promise<string[]> {
  return (await caches.keys()).filter((name) => name === CACHE || name.startsWith(ISSUE));
}

/** Takes an object down, piece by piece. A browser without room keeps nothing, and the reader reads on. */
export class BrowserCopyWriter {
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;
  #left: number;
  #isOver = false;

  /** @returns `undefined` where an object is too long */
  static begin(path: string, entry: DocumentEntry, length: number): BrowserCopyWriter | undefined {
    return length <= LONGEST ? new BrowserCopyWriter(nameOf(path, entry), length) : undefined;
  }

  private constructor(name: string, length: number) {
    this.#left = length;
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    this.#writer = writable.getWriter();
    this.#writer.closed.catch(() => undefined);
    const written = put(name, readable as ReadableStream<Uint8Array<ArrayBuffer>>).then(
      () => true,
      () => {
        this.abandon();
        return false;
      },
    );
    writing.set(name, written);
    void written.finally(() => writing.delete(name));
  }

  /** Takes the next piece, which has passed its check. Resolves when there is room for more. */
  async keep(piece: Uint8Array): Promise<void> {
    if (this.#isOver) return;
    try {
      await this.#writer.write(piece.slice()); // the browser takes its memory over
      this.#left -= piece.length;
      if (this.#left > 0) return;
      this.#isOver = true;
      await this.#writer.close();
    } catch {
      this.abandon();
    }
  }

  /** Gives up: the object is not kept. Has no effect on one that is. */
  abandon(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#writer.abort().catch(() => undefined);
  }
}

async function put(name: string, body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.put(name, new Response(body));
  writes += 1;
  if (writes % SWEEP_AFTER !== 0) return;
  const names = await cache.keys();
  for (const oldest of names.slice(0, Math.max(0, names.length - MOST))) await cache.delete(oldest);
}

async function* piecesOf(blob: Blob): AsyncGenerator<Uint8Array, undefined> {
  const reader = blob.stream().getReader();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

/** A TUF repository over HTTP, and a folder of trusted metadata: what the client of core/ asks of its surroundings. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MetadataSource, MetadataStore } from '../../core/publication/client.ts';
import { inTurn, type TimestampAnswer } from '../../core/publication/sources.ts';

/** Answers that take longer, whole, are given up. */
const TIMEOUT_MILLISECONDS = 20_000;

export class HttpSource implements MetadataSource {
  readonly #base: string;

  constructor(metadataUrl: string) {
    this.#base = metadataUrl.endsWith('/') ? metadataUrl : `${metadataUrl}/`;
  }

  metadata(file: string, maximumLength: number): Promise<Uint8Array | undefined> {
    return fetchFile(this.#base + file, maximumLength);
  }

  timestamps(maximumLength: number, isEnough: () => boolean): AsyncIterable<TimestampAnswer> {
    return inTurn([() => this.metadata('timestamp.json', maximumLength)], isEnough);
  }
}

/**
 * A file by HTTP; of one that is too long, one byte more than is allowed.
 *
 * @returns `undefined` where the server says that there is none
 */
export async function fetchFile(url: string, maximumLength: number): Promise<Uint8Array | undefined> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS), redirect: 'error' });
  if (response.status === 404 || response.status === 403) return undefined;
  if (!response.ok || response.body === null) throw new Error(`${url}: status ${response.status}`);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body) {
    parts.push(part);
    length += part.length;
    if (length > maximumLength) break;
  }
  return Buffer.concat(parts);
}

/** Files by the names of roles, `root.json`; what is the client's own lies beside them under other names. */
export class FolderStore implements MetadataStore {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  async read(name: string): Promise<Uint8Array | undefined> {
    try {
      return readFileSync(this.#file(name));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return rmSync(this.#file(name), { force: true });
    replaceFile(this.#file(name), bytes);
  }

  #file(name: string): string {
    const encoded = encodeURIComponent(name);
    return join(this.#folder, name.startsWith('wispr:') ? `${encoded}.in-use` : `${encoded}.json`);
  }
}

/** Writes all bytes or none. */
export function replaceFile(file: string, bytes: Uint8Array): void {
  const beside = `${file}.new`;
  writeFileSync(beside, bytes);
  renameSync(beside, file);
}

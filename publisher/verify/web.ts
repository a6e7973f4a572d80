/** The files of a web host. Nothing is followed: no redirect, no link. */

import { urlPathOf } from '../../core/site/path.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { request } from '../../node-support/undici.ts';
import { readStart, Unreadable, type VerifiedPlace } from './place.ts';

const TIMEOUT = 30_000;
const ABSENT = [404, 410];
/** Bytes a second that a host gives at least, on average, once one answer has taken as long as {@link SLOW_START}: otherwise it could hold a check up for days. */
const SLOWEST = 1024;
const SLOW_START = 60_000;

export class WebPlace implements VerifiedPlace {
  readonly inFlight = 8;
  readonly #origin: string;
  readonly #slowStart: number;

  /** @param slowStart - milliseconds for which an answer may be as slow as it likes */
  constructor(origin: string, slowStart = SLOW_START) {
    this.#origin = origin;
    this.#slowStart = slowStart;
  }

  read(path: string, maximum: number): Promise<Uint8Array | undefined> {
    return readStart(this, path, maximum);
  }

  async open(path: string): Promise<AsyncGenerator<Uint8Array> | undefined> {
    try {
      const { statusCode, body } = await request(this.#origin + urlPathOf(path), {
        headersTimeout: TIMEOUT,
        bodyTimeout: TIMEOUT,
      });
      body.on('error', () => undefined); // that it was not read to the end; real errors come out of the iteration
      if (statusCode === 200) return chunks(body, this.#slowStart);
      body.destroy();
      if (ABSENT.includes(statusCode)) return undefined;
      throw new Unreadable(`the host answers ${statusCode}`);
    } catch (error) {
      throw error instanceof Unreadable ? error : unreadable(error);
    }
  }
}

async function* chunks(
  body: AsyncIterable<Uint8Array> & { destroy(): void },
  slowStart: number,
): AsyncGenerator<Uint8Array> {
  let [waited, received, asked] = [0, 0, performance.now()];
  try {
    for await (const chunk of body) {
      waited += performance.now() - asked; // what is done with it is no fault of the host's
      received += chunk.length;
      if (waited > slowStart && received < (waited / 1000) * SLOWEST) throw new Unreadable('the host is too slow');
      yield chunk;
      asked = performance.now();
    }
  } catch (error) {
    throw error instanceof Unreadable ? error : unreadable(error);
  } finally {
    body.destroy();
  }
}

function unreadable(error: unknown): Unreadable {
  return new Unreadable(`the host does not answer: ${systemReason(error)}`, { cause: error });
}

/** The files of a web host. Nothing is followed: no redirect, no link. */
import { request } from 'undici';
import { urlPathOf } from '../../core/site/path.ts';
import { systemReason } from '../../node-support/system-error.ts';
import { readStart, Unreadable, type VerifiedPlace } from './place.ts';

const TIMEOUT = 30_000;
const ABSENT = [404, 410];

export class WebPlace implements VerifiedPlace {
  readonly inFlight = 8;
  readonly #origin: string;

  constructor(origin: string) {
    this.#origin = origin;
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
      if (statusCode === 200) return chunks(body);
      body.destroy();
      if (ABSENT.includes(statusCode)) return undefined;
      throw new Unreadable(`the host answers ${statusCode}`);
    } catch (error) {
      throw error instanceof Unreadable ? error : unreadable(error);
    }
  }
}

async function* chunks(body: AsyncIterable<Uint8Array> & { destroy(): void }): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk;
  } catch (error) {
    throw unreadable(error);
  } finally {
    body.destroy();
  }
}

function unreadable(error: unknown): Unreadable {
  return new Unreadable(`the host does not answer: ${systemReason(error)}`, { cause: error });
}

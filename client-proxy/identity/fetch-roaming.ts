/** Gets a roaming file from wherever its reader put it. Nothing of it is believed: the words decide. */
import { createReadStream } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import { reasonOf } from '../../core/errors.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { describeUnreadable } from '../../node-support/system-error.ts';
import type { Reach } from '../connect/reach.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { parseAllowLocal } from '../network/local-addresses.ts';
import { Upstream } from '../network/upstream.ts';

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/**
 * Reads a roaming file; of one that is too long no more than shows that it is.
 *
 * @param from - `https:`, `http:` or `file:` URL, or a path
 * @throws ReaderError `host-unreachable`. The message has nothing of the URL but its host: the rest may be a secret
 */
export async function fetchRoaming(from: string, options: Reach = {}): Promise<Uint8Array> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(from)?.[1]?.toLowerCase();
  if (scheme === 'https' || scheme === 'http') return fetchFromWeb(from, options);
  if (scheme !== undefined && scheme !== 'file')
    throw unavailable(`${scheme}: addresses are not fetched`, 'name a file, or an https: address', true);
  return readFromFile(scheme === 'file' ? pathOf(from) : from);
}

function pathOf(url: string): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw unavailable(
      `this is not the address of a file: ${reasonOf(cause)}`,
      'write it like file:///key/wispr.roaming',
      true,
    );
  }
}

async function readFromFile(path: string): Promise<Uint8Array> {
  try {
    return await readStart(createReadStream(path));
  } catch (cause) {
    throw unavailable(describeUnreadable(path, cause), 'check the path', true, cause);
  }
}

/** Reads one byte beyond the longest file: the parser refuses longer ones. */
async function readStart(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const reader = new ByteReader(chunks);
  try {
    return await reader.readUpTo(MESSAGE_LIMITS.roaming + 1);
  } finally {
    await reader.cancel();
  }
}

async function fetchFromWeb(from: string, { connectTo, ca }: Reach): Promise<Uint8Array> {
  if (!URL.canParse(from)) throw unavailable('this is not an address', 'copy it whole', true);
  // The address that the reader names may be at home; that of a redirect may not.
  await using upstream = new Upstream({ connectTo, ca, allowLocal: [parseAllowLocal(new URL(from).host)] });
  const signal = AbortSignal.timeout(LIMITS.roamingTimeout);
  let url = new URL(from);
  try {
    for (let hops = 0; hops <= LIMITS.roamingRedirects; hops++) {
      const found = await get(url, upstream, signal);
      if (found instanceof Uint8Array) return found;
      url = found;
    }
    throw unavailable(`${new URL(from).host} leads from one address to the next without an end`, 'check the address');
  } catch (error) {
    if (error instanceof ReaderError) throw error;
    const why = (error as Error).name === 'TimeoutError' ? 'no answer in time' : reasonOf(error);
    throw unavailable(`${url.host} could not be reached: ${why}`, 'check address and connection', false, error);
  }
}

/** The file, or where it is instead. */
async function get(url: URL, upstream: Upstream, signal: AbortSignal): Promise<Uint8Array | URL> {
  const headers = { accept: '*/*', 'accept-encoding': 'identity' };
  const {
    statusCode,
    headers: fields,
    body,
  } = await request(url, { dispatcher: upstream.direct, method: 'GET', signal, headers });
  const location = String(fields.location ?? '');
  const drop = () => body.on('error', () => undefined).destroy();
  if (REDIRECTS.includes(statusCode) && URL.canParse(location, url)) {
    drop();
    const next = new URL(location, url);
    const mayFollow = next.protocol === 'https:' || (next.protocol === 'http:' && url.protocol === 'http:');
    if (mayFollow) return next;
    throw unavailable(`${url.host} leads to an address that is not https:`, 'name that one, if you trust it');
  }
  if (statusCode === 200) return readStart(body);
  drop();
  throw unavailable(`${url.host} answered ${statusCode}`, 'check the address: is the file there, for everybody?');
}

function unavailable(message: string, advice: string, typed = false, cause?: unknown): ReaderError {
  return new ReaderError('host-unreachable', `${message}; ${advice}`, { typed, cause });
}

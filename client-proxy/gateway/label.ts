/** The name of a site below `localhost`: one DNS label, because `a.com.localhost` and `b.com.localhost` share cookies. */
import { sha256 } from '#primitives';
import { utf8 } from '../../core/encoding/bytes.ts';
import { READER_PORT } from '../../core/site/open-in-reader.ts';

/** Port on which the Reader listens, unless the reader chooses another. */
export const DEFAULT_PORT = READER_PORT;
export const HOST = '127.0.0.1';

const MAXIMUM_LABEL = 63;
const HASH_CHARACTERS = 10;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/**
 * A readable part and 50 bits of SHA-256, so that two sites differ. Runs of hyphens become one: `xn--` at the beginning of a label that
 * is not an international name is an error to browsers.
 */
export async function gatewayLabel(site: string): Promise<string> {
  const digest = await sha256(utf8(`wispr/1 gateway label\n${site}`));
  const hash = Array.from(digest.subarray(0, HASH_CHARACTERS), (byte) => ALPHABET[byte % 32]).join('');
  const name = site
    .replaceAll('.', '-')
    .replace(/-{2,}/g, '-')
    .slice(0, MAXIMUM_LABEL - HASH_CHARACTERS - 1);
  return `${name.replace(/-$/, '')}-${hash}`;
}

/** Returns the URL of a site for a browser without any settings. */
export function gatewayUrl(label: string, port: number | undefined): string {
  return `http://${label}.localhost:${port}/`;
}

const GATEWAY_HOST = /^([a-z0-9-]{1,63})\.localhost$/;

/** The label in a gateway's host name. */
export function labelOf(host: string): string | undefined {
  return GATEWAY_HOST.exec(host)?.[1];
}

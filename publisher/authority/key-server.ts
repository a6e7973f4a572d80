/** Talks to the key server: keys, publications, metadata (docs/spec/keys.md, "Handing over"). The token goes into one header and nowhere else. */
import type { Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { request } from 'undici';
import { isKeyId, type KeyId } from '../../core/crypto/key-id.ts';
import { fromBase64url } from '../../core/encoding/base64url.ts';
import { isJsonObject, type JsonObject } from '../../core/encoding/canonical-json.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import {
  BUNDLE_PATH,
  FORMER_READERS_PATH,
  PUBLICATION_PATH,
  PUBLISHING_PATH,
} from '../../core/publication/hand-over.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { printable } from '../../node-support/printable.ts';
import { describeUnreadable, systemReason } from '../../node-support/system-error.ts';
import { withinTime } from '../../node-support/within-time.ts';
import { PublishError, stopped } from '../errors.ts';
import { TIMESTAMP_PATH } from '../publication/files.ts';
import { type PublicationSource, startOf } from '../publication/sources.ts';
import { publicationOlder, publicationOther, readTimestamp } from './authority.ts';

export interface KeyServerAccess {
  readonly origin: string;
  readonly token: string;
  /** Default: a minute for a request, and time for what is sent. */
  readonly limits?: KeyServerLimits;
  readonly signal?: AbortSignal | undefined;
}

export interface KeyServerLimits {
  /** Milliseconds for a request and the whole of its answer, besides those for what is sent. */
  readonly request: number;
  /** Bytes per millisecond at which what is sent has to arrive at least; a bundle may be large. */
  readonly sending: number;
}

const LIMITS: KeyServerLimits = { request: 60_000, sending: 4 };
/** Statuses by which a proxy says that the key server is not there. */
const ABSENT = [502, 503, 504];
/** Code of a key server that answers with such a status, but was never given a bundle. */
const NO_KEYS = 'no-provider';
const MAXIMUM_TOKEN = 1024;
const MAXIMUM_ANSWER = 65_536;
/** Syntax of a token after `Bearer`. */
const TOKEN = /^[A-Za-z0-9._~+/-]{16,512}=*$/;

const OTHER_BUNDLE = 'another copy of this workspace has handed over keys that this one does not have';

const REASONS: Readonly<Record<string, string>> = {
  'bundle-conflict': OTHER_BUNDLE,
  'bundle-older': OTHER_BUNDLE,
  'bundle-foreign': 'it has the site of another publisher, or keys from another workspace',
  'bundle-recipient':
    'keys.bundle is sealed for another key server: replace the file that "recipient" in wispr.json names',
  'clock-off': 'its clock and the one of this machine differ by hours',
  'disk-full': 'its disk is full',
  [NO_KEYS]: 'it has no keys of this site yet',
  'publisher-key-changed':
    'its operator has to confirm the new publisher key: "wispr admin import FILE --new-publisher-key ID"',
  'metadata-rollback': 'it has a later root than this workspace',
  '401': 'it does not know the token: make a new one with "wispr admin token"',
  '404': 'there is no API of a key server of this version',
  '429': 'it was asked too often: wait a minute',
};

/** @throws PublishError `token-refused` */
export async function readToken(file: string): Promise<string> {
  try {
    await using handle = await open(file);
    const stats = await handle.stat();
    if (stats.size > MAXIMUM_TOKEN) throw unreadable(file, `${file} is too long for a token`);
    if (isOpenToOthers(stats))
      throw unreadable(file, `other users of this machine can read the token in ${file} (chmod 600 changes that)`);
    const token = (await handle.readFile('utf8')).trim();
    if (TOKEN.test(token)) return token;
  } catch (error) {
    if (error instanceof PublishError) throw error;
    throw unreadable(file, describeUnreadable(file, error), error);
  }
  throw unreadable(file, `${file} holds no token`);
}

/** Checks files only: the mode of a pipe says nothing. */
function isOpenToOthers(stats: Stats): boolean {
  return stats.isFile() && (stats.mode & 0o077) !== 0;
}

/** @throws PublishError `key-server-refused`, `key-server-unreachable` */
export async function handOverKeys(access: KeyServerAccess, bundle: Uint8Array): Promise<void> {
  const { status, bytes } = await exchange(access, BUNDLE_PATH, { body: bundle });
  if (status < 200 || status > 299) throw refusal(access, 'the keys', status, bytes);
}

/**
 * Hands over a publication.
 *
 * @param message - made by `encodeHandOver`
 * @param version - of the publication
 * @returns `timestamp.json`, as the key server has signed it
 * @throws PublishError `key-server-refused`, `key-server-unreachable`, `publication-older`, `publication-other`
 */
export async function putPublication(
  access: KeyServerAccess,
  message: Uint8Array,
  version: number,
): Promise<Uint8Array> {
  const { status, bytes } = await exchange(access, PUBLICATION_PATH, { body: message });
  const answer = jsonIn(bytes);
  const timestamp = fromBase64url(answer?.timestamp);
  if (status === 200 && timestamp) return timestamp;
  const who = `the key server ${access.origin}`;
  if (status === 409 && timestamp && answer?.error === 'publication-other') throw publicationOther(version, who);
  if (status === 409 && timestamp && answer?.error === 'publication-older')
    throw publicationOlder(readTimestamp(timestamp).timestamp.snapshot.version, version, who);
  throw refusal(access, 'the publication', status, bytes);
}

/**
 * Fetches the timestamp that the key server serves; `undefined` if it has none.
 *
 * @throws PublishError `key-server-unreachable`
 */
export async function fetchTimestamp(access: KeyServerAccess): Promise<Uint8Array | undefined> {
  const { status, bytes } = await exchange(access, TIMESTAMP_PATH);
  if (status === 200 && bytes.length <= PUBLICATION_LIMITS.timestampLength) return bytes;
  if (status === 404 || codeIn(bytes) === NO_KEYS) return undefined;
  throw unreachable(access.origin, status === 200 ? 'what it has is too long for a timestamp' : `${status}`);
}

/** Run of somebody else who publishes. Times in seconds since 1970. */
export interface RunInTheWay {
  readonly by: string;
  readonly from: string;
  readonly since: number;
}

export interface PublishingState {
  /** End of the token, in seconds since 1970. */
  readonly expires: number;
  readonly last: (Omit<RunInTheWay, 'since'> & { readonly publication: number; readonly time: number }) | undefined;
}

/** @throws PublishError `key-server-refused`, `key-server-unreachable` */
export async function fetchPublishing(access: KeyServerAccess): Promise<PublishingState> {
  const { status, bytes } = await exchange(access, PUBLISHING_PATH);
  const { expires, last } = jsonIn(bytes) ?? {};
  if (status !== 200 || typeof expires !== 'number') throw refusal(access, 'the token', status, bytes);
  if (!isJsonObject(last)) return { expires, last: undefined };
  const { publication, time } = last;
  return { expires, last: { publication: Number(publication), time: Number(time), ...names(last) } };
}

/**
 * Fetches the keys of sets that somebody could read when their key came to the key server, and cannot any more.
 *
 * @throws PublishError `key-server-refused`, `key-server-unreachable`
 */
export async function fetchKeysOfFormerReaders(access: KeyServerAccess): Promise<ReadonlySet<KeyId>> {
  const { status, bytes } = await exchange(access, FORMER_READERS_PATH, { maximum: MESSAGE_LIMITS.bundle });
  const keys = jsonIn(bytes)?.keys;
  if (status !== 200 || !Array.isArray(keys) || !keys.every(isKeyId))
    throw refusal(access, 'to say who cannot read any more', status, bytes);
  return new Set(keys);
}

/**
 * Says that a run publishes, or still does.
 *
 * @returns the run that is in its way; `undefined` also where the key server does not answer
 * @throws PublishError `key-server-refused`
 */
export async function putRun(
  access: KeyServerAccess,
  run: { readonly run: string; readonly from: string },
): Promise<RunInTheWay | undefined> {
  const body = Buffer.from(JSON.stringify(run));
  const answer = await exchange(access, PUBLISHING_PATH, { body }).catch((error: unknown) => {
    if (!isUnreachable(error)) throw error;
  });
  if (answer === undefined || answer.status < 300) return undefined;
  const { status, bytes } = answer;
  const other = jsonIn(bytes);
  if (status === 409 && other?.error === 'publishing-elsewhere') return { since: Number(other.since), ...names(other) };
  const failure = refusal(access, 'to let this run publish', status, bytes);
  if (isUnreachable(failure)) return undefined;
  throw failure;
}

/** @throws PublishError `key-server-unreachable` */
export async function releaseRun(access: KeyServerAccess, run: string): Promise<void> {
  await exchange(access, `${PUBLISHING_PATH}/${run}`, { method: 'DELETE' });
}

function names({ by, from }: JsonObject): { by: string; from: string } {
  const shown = (value: unknown) => (typeof value === 'string' && value !== '' ? printable(value.slice(0, 200)) : '?');
  return { by: shown(by), from: shown(from) };
}

/** Reads the metadata that the key server serves: timestamp, roots, the current snapshot. */
export function placeAtKeyServer(access: KeyServerAccess): PublicationSource {
  return {
    read: async (path, maximum) => {
      const { status, bytes } = await exchange(access, path, { maximum });
      return status === 200 ? bytes : undefined;
    },
  };
}

/** Tells whether an error says that the key server does not answer, which may pass. */
export function isUnreachable(error: unknown): error is PublishError {
  return error instanceof PublishError && error.code === 'key-server-unreachable';
}

function refusal({ origin }: KeyServerAccess, what: string, status: number, bytes: Buffer): PublishError {
  const code = codeIn(bytes);
  if (code === 'clock-off' && status === 503) return clockWasAhead(origin);
  if (ABSENT.includes(status) && code !== NO_KEYS) return unreachable(origin, reasonOf(code ?? '') ?? `${status}`);
  const said = code ?? String(status);
  const reason = reasonOf(code ?? '') ?? reasonOf(String(status));
  const message = `the key server ${origin} refuses ${what} (${said})${reason === undefined ? '' : `: ${reason}`}`;
  return new PublishError('key-server-refused', message, { fields: { origin, said } });
}

/** Makes the error of a key server that answers, but refuses until the time of its last timestamp: retrying gains nothing. */
function clockWasAhead(origin: string): PublishError {
  const message = `the key server ${origin} signs nothing: its clock is behind its last timestamp, and is wrong, or was ahead then`;
  return new PublishError('clock-off', message, { fields: { origin } });
}

/** Returns our own words for a code: no text of the key server is shown. */
function reasonOf(said: string): string | undefined {
  return Object.hasOwn(REASONS, said) ? REASONS[said] : undefined;
}

/** undici has no total time: its own begin anew with every byte. */
const NO_TIMES = { headersTimeout: 0, bodyTimeout: 0 };

/** Puts a body, gets, or does what `method` says; reads no more of the answer than `maximum` bytes. All of it together has a time limit. */
async function exchange(
  { origin, token, limits = LIMITS, signal: given }: KeyServerAccess,
  path: string,
  {
    body,
    method = body ? 'PUT' : 'GET',
    maximum = MAXIMUM_ANSWER,
  }: { readonly body?: Uint8Array; readonly method?: 'DELETE' | 'GET' | 'PUT'; readonly maximum?: number } = {},
): Promise<{ status: number; bytes: Buffer }> {
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/octet-stream' }) };
  // Metadata are public: whoever answers in the place of the key server gets no token for them.
  const isOpen = method === 'GET' && !path.startsWith(PUBLISHING_PATH);
  const asking = { method, ...(!isOpen && { headers }), ...(body && { body }) };
  const ask = async (signal: AbortSignal) => {
    const answer = await request(origin + path, { ...asking, ...NO_TIMES, signal });
    return { status: answer.statusCode, bytes: await startOf(answer.body, maximum + 1) };
  };
  try {
    return await withinTime(limits.request + (body?.length ?? 0) / limits.sending, ask, given);
  } catch (error) {
    // A stop is no failure of the key server: nothing is signed in its place.
    if (given?.aborted) throw stopped(body ? 'the key server may have taken what was sent' : undefined);
    throw unreachable(origin, error);
  }
}

function unreachable(origin: string, cause: unknown): PublishError {
  const message = `the key server ${origin} does not answer: ${printable(systemReason(cause))}`;
  return new PublishError('key-server-unreachable', message, { cause, fields: { origin } });
}

function codeIn(bytes: Buffer): string | undefined {
  const error = jsonIn(bytes)?.error;
  return typeof error === 'string' && /^[a-z0-9-]{1,64}$/.test(error) ? error : undefined;
}

function jsonIn(bytes: Buffer): JsonObject | undefined {
  try {
    const value = JSON.parse(bytes.toString('utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function unreadable(file: string, message: string, cause?: unknown): PublishError {
  return new PublishError('token-refused', message, { cause, fields: { file } });
}

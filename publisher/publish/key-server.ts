/** Hands keys, and news of a publication, to the key server: docs/keyserver.md. The token goes into one header and nowhere else. */
import type { Stats } from 'node:fs';
import { open } from 'node:fs/promises';
import { equalBytes } from '../../core/encoding/bytes.ts';
import { BUNDLE_PATH, encodeHandOver, type HandOver, PUBLICATION_PATH } from '../../core/publication/hand-over-1.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { METADATA_PATH, metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { printable } from '../../node-support/printable.ts';
import { describeUnreadable, systemReason } from '../../node-support/system-error.ts';
import { request } from '../../node-support/undici.ts';
import { withinTime } from '../../node-support/within-time.ts';
import { PublishError } from '../errors.ts';

export interface KeyServerAccess {
  /** Its origin. */
  readonly origin: string;
  readonly token: string;
  /** Left out but in tests. */
  readonly limits?: KeyServerLimits;
  /** Gives up what it is waited for. */
  readonly signal?: AbortSignal | undefined;
  /** What it answered already to whoever asks for its timestamp: one command asks once. */
  readonly answered?: (() => Promise<Uint8Array | undefined>) | undefined;
}

/** For what it tells anybody. */
export type KeyServerQuestion = Omit<KeyServerAccess, 'token'> & { readonly token?: string };

export interface KeyServerLimits {
  /** Milliseconds for a request and the whole of its answer, besides those for what is sent. */
  readonly request: number;
  /** Bytes in a millisecond at which bundles, which may be large, have to arrive at the least. */
  readonly sending: number;
}

const LIMITS: KeyServerLimits = { request: 60_000, sending: 4 };
/** What stands in front of it says that it is not there. */
const ABSENT = [502, 503, 504];
/** It is there, with the same status, and was never given a bundle. */
const NO_KEYS = 'no-provider';
/** What is said where {@link KeyServerAccess.signal} came first. */
const NOT_WAITED_FOR = 'it was not waited for any longer';
const MAXIMUM_TOKEN = 1024;
const MAXIMUM_ANSWER = 65_536;
/** What may stand behind `Bearer`. */
const TOKEN = /^[A-Za-z0-9._~+/-]{16,512}=*$/;

/** Where a copy of the workspace has handed over a bundle that this one knows nothing of. */
const OTHER_BUNDLE =
  'was publisher.keys put back from an older copy, or does another copy of this workspace publish? Bring what is served into "out" (docs/publishing.md, "When the disk is gone"), and publish again; if it is refused again, "wispr publish --rekey SET" makes a bundle that is above all others, and a new key for that set';

/** What to do about the answers that a key server has for publishers. */
const HINTS: Readonly<Record<string, string>> = {
  'bundle-conflict': OTHER_BUNDLE,
  'bundle-older': OTHER_BUNDLE,
  'bundle-foreign':
    'it has the site of another publisher, or keys from another workspace: see that "keyServer" in wispr.json and the token are of this site, and publisher.keys is the one with which it was published before',
  'bundle-recipient':
    'keys.bundle is sealed for another key server: put the keyserver.pub of this one in the place of the one here ("recipient" in wispr.json), and publish again',
  'clock-behind':
    'one of the two clocks is wrong: set it. If it was the one here that was ahead, readers refuse what was signed until that time comes, or until a new key has signed: "wispr keys rotate timestamp", then publish again',
  [NO_KEYS]:
    'it has no keys of this site yet: publishing hands them over, or its operator imports keys.bundle with "wispr admin import"',
  '401': 'make a new token on the key server with "wispr admin token", and put it into the file',
  'publisher-key-changed':
    'ask its operator to run "wispr admin import FILE --new-publisher-key ID" with your keys.bundle and the id of your new publisher key ("wispr keys list"); then publish again',
  'metadata-rollback':
    'it knows something newer: where another machine has signed meanwhile, run the same command again. If it is refused again, either it has the site of another publisher (is "keyServer" in wispr.json right?), or a later publication or root than this workspace, which is an old copy then: go on with the one that published last, or as in docs/publishing.md, "When the disk is gone"',
  '404': 'is that the API of a key server of this version?',
  '429': 'wait a minute, and publish again',
};

/**
 * Reads a token.
 *
 * @throws PublishError `token-unreadable`
 */
export async function readToken(file: string): Promise<string> {
  try {
    await using handle = await open(file);
    const stats = await handle.stat();
    if (stats.size > MAXIMUM_TOKEN) throw unreadable(`${file} is too long for a token`);
    if (isOpenToOthers(stats)) throw openToOthers(file);
    const token = (await handle.readFile('utf8')).trim();
    if (TOKEN.test(token)) return token;
  } catch (error) {
    if (error instanceof PublishError) throw error;
    throw unreadable(describeUnreadable(file, error), error);
  }
  throw unreadable(`${file} holds no token`);
}

/** Of pipes and the like, the mode says nothing. */
function isOpenToOthers(stats: Stats): boolean {
  return stats.isFile() && (stats.mode & 0o077) !== 0;
}

/**
 * @param mayWait - asked where it does not answer: whether it can be given them later
 * @throws PublishError `key-server-refused`, `key-server-unreachable`
 */
export async function handOverKeys(
  access: KeyServerAccess,
  bundle: Uint8Array,
  mayWait: () => boolean | Promise<boolean> = () => false,
): Promise<void> {
  try {
    await put(access, 'the keys', BUNDLE_PATH, bundle);
  } catch (error) {
    if (!isUnreachable(error) || !(await mayWait())) throw error;
  }
}

/** @throws PublishError `key-server-refused`, `key-server-unreachable` */
export async function tellOfPublication(access: KeyServerAccess, news: HandOver): Promise<void> {
  await put(access, 'the news of the publication', PUBLICATION_PATH, encodeHandOver(news));
}

/**
 * The timestamp that the key server has for readers; `undefined` if it says that it has none. What it is too busy for, or fails at, it does not say.
 *
 * @throws PublishError `key-server-unreachable`
 */
export async function fetchTimestamp(access: KeyServerQuestion): Promise<Uint8Array | undefined> {
  if (access.answered) return access.answered();
  const { status, bytes } = await exchange(access, METADATA_PATH + TIMESTAMP_FILE);
  if (status === 200 && bytes.length <= PUBLICATION_LIMITS.timestampLength) return bytes;
  if (status === 404 || codeIn(bytes.toString('utf8')) === NO_KEYS) return undefined;
  throw noAnswer(access.origin, status === 200 ? 'what it has is too long for a timestamp' : `${status}`);
}

/**
 * Whether it has this root.
 *
 * @throws PublishError `key-server-unreachable`
 */
export async function hasRoot(access: KeyServerAccess, version: number, root: Uint8Array): Promise<boolean> {
  const { status, bytes } = await exchange(access, METADATA_PATH + metadataFile('root', version));
  return status === 200 && equalBytes(bytes, root);
}

/** @param what - how messages name what is put there */
async function put(access: KeyServerAccess, what: string, path: string, body: Uint8Array): Promise<void> {
  const { origin } = access;
  const { status, bytes } = await exchange(access, path, body);
  if (status >= 200 && status < 300) return;
  const code = codeIn(bytes.toString('utf8'));
  if (isAbsent(status, code)) throw noAnswer(origin, `${status}`);
  const said = code === undefined ? String(status) : `${status}, ${code}`;
  const hint = hintFor(code ?? '') ?? hintFor(String(status));
  throw new PublishError('key-server-refused', `the key server ${origin} refuses ${what}: ${said}`, {
    ...(hint !== undefined && { hint }),
  });
}

function isAbsent(status: number, code: string | undefined): boolean {
  return ABSENT.includes(status) && code !== NO_KEYS;
}

/** What it says chooses among our words, and nothing else. */
function hintFor(said: string): string | undefined {
  return Object.hasOwn(HINTS, said) ? HINTS[said] : undefined;
}

/** Of undici's own there are none: they begin anew with every byte, and its clock, which is half a second coarse, may be quicker than ours. */
const NO_TIMES = { headersTimeout: 0, bodyTimeout: 0 };

/** Puts a body, or gets; the beginning of the answer. All of it together has a time. */
async function exchange(
  { origin, token, limits = LIMITS, signal: given }: KeyServerQuestion,
  path: string,
  body?: Uint8Array,
): Promise<{ status: number; bytes: Buffer }> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { ...authorization, 'content-type': 'application/octet-stream' };
  const putting = body && { method: 'PUT', headers, body };
  const ask = async (signal: AbortSignal) => {
    const answer = await request(origin + path, { ...putting, ...NO_TIMES, signal });
    return { status: answer.statusCode, bytes: await startOf(answer.body) };
  };
  try {
    return await withinTime(limits.request + (body?.length ?? 0) / limits.sending, ask, given);
  } catch (error) {
    throw noAnswer(origin, given?.aborted ? NOT_WAITED_FOR : error);
  }
}

/** Whether an error says that the key server is not there, which may pass; that it refuses does not. */
export function isUnreachable(error: unknown): error is PublishError {
  return error instanceof PublishError && error.code === 'key-server-unreachable';
}

function noAnswer(origin: string, cause: unknown): PublishError {
  const message = `the key server ${origin} does not answer: ${printable(systemReason(cause))}`;
  return new PublishError('key-server-unreachable', message, {
    cause,
    hint: 'is "keyServer" in wispr.json right, and does it run? then run the same command again: it goes on where this ended',
  });
}

async function startOf(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length > MAXIMUM_ANSWER) break;
  }
  return Buffer.concat(parts);
}

/** The code in `{"error":"code"}`. */
function codeIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' && /^[a-z0-9-]{1,64}$/.test(error) ? error : undefined;
  } catch {
    return undefined;
  }
}

function unreadable(message: string, cause?: unknown): PublishError {
  const hint = 'make one on the key server with "wispr admin token", and keep it in a file that only you can read';
  return new PublishError('token-unreadable', message, { cause, hint });
}

function openToOthers(file: string): PublishError {
  return new PublishError('token-unreadable', `other users of this machine can read the token in ${file}`, {
    hint: `chmod 600 ${file}; if they may have read it already, ask for a new one`,
  });
}

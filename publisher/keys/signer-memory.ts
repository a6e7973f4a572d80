/**
 * What a signer's machine remembers of what was signed with a key, in a small file beside it: so that whoever sends something to sign cannot
 * compare it with less than was there, nor under an earlier root. It is no secret, but nobody else's business.
 *
 *   {"wispr":"signer memory 1","publisher":…,"root":{"version":…,"digest":…},"bits":…,"signed":{"version":…,"digest":…},
 *    "signedRoot":{…},"publications":[[first,last]…],"lists":[{"name":…,"seen":{"version":…,"digest":…},"signed":{…}}…]}
 */
import { realpath } from 'node:fs/promises';
import { fromUtf8, utf8 } from '../../core/encoding/bytes.ts';
import { hasMembers, isJsonObject, type Json } from '../../core/encoding/canonical-json.ts';
import { hexDigest } from '../../core/encoding/digest.ts';
import { fromHex } from '../../core/encoding/hex.ts';
import { isKeyId } from '../../core/keys/key-id.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { PUBLICATION_LIMITS } from '../../core/publication/limits.ts';
import { PublishError } from '../errors.ts';
import { withLock } from '../workspace.ts';
import { replaceFile } from './file-update.ts';
import { readDraftIfThere } from './read-draft.ts';

/** A version, and SHA-256 of what it says. */
export interface Version {
  readonly version: number;
  readonly digest: string;
}

/** What is known of one list: as of the highest publication of which it was seen as published, and as it was signed last. */
export interface ListMemory {
  readonly seen?: Version;
  readonly signed?: Version;
}

/** Numbers from the first to the last. */
export type Run = readonly [first: number, last: number];

export interface SignerMemory {
  /** The root id of the one publisher for whom the key signs. */
  readonly publisher: string;
  /** The highest root that was seen. */
  readonly root: Version;
  /** The last root that was signed. */
  readonly signedRoot?: Version | undefined;
  /** The most bits of bins that were seen. */
  readonly bits: number;
  /** The last publication that was signed. */
  readonly signed: Version | undefined;
  /** All publications that were signed. */
  readonly publications: readonly Run[];
  readonly lists: ReadonlyMap<string, ListMemory>;
}

const KIND = 'signer memory 1';

/** Runs of publications that are remembered. */
const MOST_RUNS = 1024;

/** Where it lies. */
export function memoryFile(keyFile: string): string {
  return `${keyFile}.seen`;
}

/**
 * What is remembered of a key; `undefined` if nothing is.
 *
 * @throws PublishError `key-store-damaged`: to begin anew unasked would be to forget
 */
export async function readMemory(keyFile: string): Promise<SignerMemory | undefined> {
  const file = memoryFile(await realpath(keyFile));
  try {
    const bytes = await readDraftIfThere(file);
    return bytes && parse(JSON.parse(fromUtf8(bytes) ?? '') as Json);
  } catch (error) {
    throw new PublishError('key-store-damaged', `${file} cannot be read, or is damaged`, {
      cause: error,
      hint: 'bring it back from a copy; without one, compare root and publication with the publisher by another way, then remove it',
    });
  }
}

/** Keeps others that sign with the same key out while `work` runs, which may remember something. */
export async function withMemory<Result>(
  keyFile: string,
  work: (memory: SignerMemory | undefined, remember: (memory: SignerMemory) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const real = await realpath(keyFile);
  return withLock({ lock: `${real}.lock` }, async () => {
    return work(await readMemory(real), (memory) => replaceFile(memoryFile(real), encode(memory)));
  });
}

/**
 * The last of a chain of roots, to be remembered.
 *
 * @throws PublishError `signer-bound` for another publisher's than was signed for before, `draft-rolled-back` if it lacks a root that was seen
 */
export async function checkRoots(
  memory: SignerMemory | undefined,
  publisher: string,
  chain: readonly Uint8Array[],
): Promise<Version> {
  if (memory && memory.publisher !== publisher) throw bound(memory.publisher, publisher);
  const known = memory?.root;
  if (known && (await digestOf(chain[known.version - 1])) !== known.digest)
    throw rolledBack(`it is made for other roots than root ${known.version}, which was seen before`);
  return { version: chain.length, digest: await digestOf(chain.at(-1)) };
}

/**
 * A root that is to be signed, to be remembered.
 *
 * @param message - what it says
 */
export async function signedRootOf(version: number, message: Uint8Array): Promise<Version> {
  return { version, digest: await hexDigest(message) };
}

/** What is remembered after a root was signed: what was in force before it, and that one. */
export function afterRoot(
  memory: SignerMemory | undefined,
  publisher: string,
  root: Version,
  signedRoot: Version,
): SignerMemory {
  const none = { bits: 0, signed: undefined, publications: [], lists: new Map() };
  return { ...none, ...memory, publisher, root, signedRoot };
}

/** Runs with another number in them, above all that are there, or there already. */
export function withNumber(runs: readonly Run[], number: number): Run[] {
  const [last, before] = [runs.at(-1), runs.slice(0, -1)];
  if (isIn(runs, number)) return [...runs];
  const more: Run[] = last?.[1] === number - 1 ? [...before, [last[0], number]] : [...runs, [number, number]];
  const [first, second, ...rest] = more;
  // What lies between the two counts as signed here then: that may refuse too much, and forgets nothing.
  return more.length > MOST_RUNS && first && second ? [[first[0], second[1]], ...rest] : more;
}

/** Whether a number is in a run. */
export function isIn(runs: readonly Run[], number: number): boolean {
  return runs.some(([first, last]) => first <= number && number <= last);
}

export function rolledBack(why: string): PublishError {
  return new PublishError('draft-rolled-back', `this goes behind what was seen on this machine: ${why}`, {
    hint: 'do not sign it; ask the publisher, by another way than the file came by',
  });
}

function bound(before: string, now: string): PublishError {
  return new PublishError('signer-bound', `this key signs for the publisher ${before}, and ${now} asks for it`, {
    hint: 'signatures do not say for whom they are: make a key for each publisher with "wispr keys new-signer"',
  });
}

/** Of what a root says, whoever has signed it. */
async function digestOf(root: Uint8Array | undefined): Promise<string> {
  return root === undefined ? '' : await hexDigest(openEnvelope(root, 'root').message);
}

function encode({ lists, ...rest }: SignerMemory): Uint8Array {
  const named = Array.from(lists, ([name, list]) => ({ name, ...list }));
  return utf8(`${JSON.stringify({ wispr: KIND, ...rest, lists: named })}\n`);
}

function parse(value: Json): SignerMemory {
  const members = ['wispr', 'publisher', 'root', 'bits', 'publications', 'lists'];
  if (!isJsonObject(value) || !hasMembers(value, members, ['signed', 'signedRoot']) || value.wispr !== KIND)
    throw new TypeError('its form');
  const { publisher, bits, lists } = value;
  if (!isKeyId(publisher) || !isCount(bits) || bits > PUBLICATION_LIMITS.binBits) throw new TypeError('its members');
  if (!Array.isArray(lists)) throw new TypeError('its lists');
  const signed = value.signed === undefined ? undefined : versionOf(value.signed);
  const signedRoot = value.signedRoot === undefined ? undefined : versionOf(value.signedRoot);
  const [root, publications] = [versionOf(value.root), runsOf(value.publications)];
  return { publisher, bits, signed, root, signedRoot, publications, lists: new Map(lists.map(listOf)) };
}

/** In their order, each above the one before. */
function runsOf(value: Json | undefined): Run[] {
  if (!Array.isArray(value) || value.length > MOST_RUNS) throw new TypeError('its publications');
  let before = 0;
  return value.map((run) => {
    if (!Array.isArray(run) || run.length !== 2) throw new TypeError('its publications');
    const [first, last] = run;
    if (!isCount(first) || !isCount(last) || first <= before || last < first) throw new TypeError('its publications');
    before = last;
    return [first, last];
  });
}

function versionOf(value: Json | undefined): Version {
  if (!isJsonObject(value) || !hasMembers(value, ['version', 'digest'])) throw new TypeError('a version');
  const { version, digest } = value;
  if (!isCount(version) || typeof digest !== 'string' || !fromHex(digest, 32)) throw new TypeError('a version');
  return { version, digest };
}

function listOf(value: Json): [string, ListMemory] {
  if (!isJsonObject(value) || !hasMembers(value, ['name'], ['seen', 'signed'])) throw new TypeError('a list');
  const { name, seen, signed } = value;
  if (typeof name !== 'string') throw new TypeError('a list');
  return [name, { ...(seen && { seen: versionOf(seen) }), ...(signed && { signed: versionOf(signed) }) }];
}

function isCount(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

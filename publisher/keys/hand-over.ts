/** Files that leave the workspace besides the site: the descriptor for everybody, and the key bundle for the key server. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { XWING_PUBLIC_KEY_LENGTH } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { type BundledSet, encodeBundle } from '../../core/keys/bundle.ts';
import { encodeDescriptor } from '../../core/keys/descriptor.ts';
import { checkXwingPublicKey } from '../../core/keys/device.ts';
import type { PublisherIdentity } from '../../core/object/writer.ts';
import { describeUnreadable, systemCode } from '../../node-support/system-error.ts';
import { PublishError } from '../errors.ts';
import { type Configuration, hasReadingSite, originsOf } from '../workspace/configuration/schema.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { publicKeyIn } from './file-update.ts';
import type { KeyStoreContents, NamedSet, OpenKeyStore } from './key-store.ts';
import { bundledPeriod, type NamedPeriod } from './periods.ts';

/** Seconds for which a descriptor is good: more than a year, since each `wispr protect` makes a new one. */
const DESCRIPTOR_VALIDITY = 400 * 24 * 60 * 60;

/** Returns the path of the key server's public key. */
export function recipientFileOf(workspace: Workspace, { recipient }: Configuration): string {
  return resolve(workspace.directory, recipient);
}

/**
 * Reads the key server's X-Wing public key, a line of base64url in a text file; lines that begin with `#` are comments.
 *
 * @returns `undefined` if there is no such file
 * @throws PublishError `key-file-refused`
 */
export async function readRecipient(file: string): Promise<Uint8Array | undefined> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw new PublishError('key-file-refused', describeUnreadable(file, error), { cause: error });
  });
  if (text === undefined) return undefined;
  const key = publicKeyIn(text, XWING_PUBLIC_KEY_LENGTH);
  try {
    checkXwingPublicKey(key ?? new Uint8Array(0));
  } catch (error) {
    throw new PublishError('key-file-refused', `${file} is not the public key of a key server`, { cause: error });
  }
  return key;
}

export function makeDescriptor(
  configuration: Configuration,
  { publisher, rootId }: Pick<OpenKeyStore, 'publisher' | 'rootId'>,
  now: number,
): Uint8Array {
  const { site, name = site, reading, keyServer, httpcrypt } = configuration;
  const descriptor = {
    expires: now + DESCRIPTOR_VALIDITY,
    ...(httpcrypt && { httpcrypt }),
    issued: now,
    keyServer,
    name,
    publisherKey: toBase64url(publisher.publicKey),
    root: rootId,
    sites: [{ content: originsOf(configuration), reading, site }],
  };
  return encodeDescriptor(descriptor, publisher.secretKey);
}

/** Contents of a key bundle. */
export interface HandedOver {
  readonly descriptor: Uint8Array;
  readonly sets: readonly NamedSet[];
  readonly periods: readonly NamedPeriod[];
  /** Site settings, as they are signed. */
  readonly settings: Uint8Array;
}

/**
 * Makes the key bundle with the serial that `contents` says, sealed to `recipient`. It has the timestamp key in it where the key server is to sign
 * timestamps, and set keys only where it is to give them out.
 */
export async function makeBundle(
  { descriptor, sets, periods, settings }: HandedOver,
  configuration: Pick<Configuration, 'content' | 'reading' | 'site' | 'timestampBy'>,
  contents: KeyStoreContents,
  publisher: PublisherIdentity,
  recipient: Uint8Array,
  now: number,
): Promise<Uint8Array> {
  const { site, timestampBy } = configuration;
  const given = hasReadingSite(configuration) ? sets : [];
  const bundled: BundledSet[] = given.map(({ id, key, name }) => ({ id, key: toBase64url(key), name, site }));
  const about = { issued: now, serial: contents.serial, workspace: toBase64url(contents.workspace) };
  const [firstRoot = new Uint8Array(0)] = contents.roots;
  const payload = {
    descriptor: toBase64url(descriptor),
    ...(periods.length > 0 && { periods: periods.map((period) => bundledPeriod(period, site)) }),
    root: toBase64url(firstRoot),
    sets: bundled,
    ...(hasReadingSite(configuration) && { settings: toBase64url(settings) }),
    ...(timestampBy === 'keyserver' && { timestampKey: toBase64url(contents.seeds.timestamp) }),
  };
  return encodeBundle(payload, about, recipient, publisher);
}

/**
 * The key bundle: the publisher's set keys and descriptor, signed, and sealed to one key server: docs/spec/keys.md, "Key bundles".
 *
 *   "wispr-bundle/1\n" (15) || H: u32 || header: canonical JSON (H) || Ed25519 signature (64) || payload: chunked-encryption
 */
import {
  ed25519Sign,
  ed25519Verify,
  type KeyPair,
  sha256,
  XWING_CIPHERTEXT_LENGTH,
  xwingDecapsulate,
  xwingEncapsulate,
} from '#primitives';
import { openMessage, sealMessage } from '../crypto/chunked-encryption.ts';
import { hkdfExpand } from '../crypto/hkdf.ts';
import { isKeyId, KEY_LENGTH, type KeyId, keyIdBytes, keyIdOf } from '../crypto/key-id.ts';
import { fromBase64url, toBase64url } from '../encoding/base64url.ts';
import { concat, equalBytes, lengthPrefixed, readU32, u32, utf8 } from '../encoding/bytes.ts';
import {
  canonicalJson,
  hasMembers,
  isJsonObject,
  type Json,
  type JsonObject,
  parseCanonicalJson,
} from '../encoding/canonical-json.ts';
import { isSite } from '../site/site.ts';
import { checkXwingPublicKey } from './device.ts';
import { KeyError } from './errors.ts';
import { MESSAGE_LIMITS } from './limits.ts';
import { parseMessage } from './sealed-message.ts';

const MAGIC = utf8('wispr-bundle/1\n');
const SIGNATURE_LABEL = utf8('wispr/1 key bundle\n');
const SIGNATURE_LENGTH = 64;
const MAXIMUM_PERIODS = 64;

/** The key of one set, as the publisher hands it to the key server. */
export interface BundledSet {
  readonly id: KeyId;
  /** base64url of the set key. */
  readonly key: string;
  /** The set's name; entitlement is decided by it. */
  readonly name: string;
  readonly site: string;
}

/** A period key of a plan, as the publisher hands it to the key server. */
export interface BundledPeriod {
  readonly id: KeyId;
  /** base64url of the period key. */
  readonly key: string;
  readonly plan: string;
  readonly site: string;
  /** The patterns of the plan's sets, sorted. */
  readonly sets: readonly string[];
  readonly zone?: string;
  /** Seconds since 1970, inclusive. */
  readonly from: number;
  readonly until: number;
}

export interface KeyBundle {
  /** base64url of the signed provider descriptor. */
  readonly descriptor: string;
  /** Keys of plans, for the current period and the next one. */
  readonly periods?: readonly BundledPeriod[];
  /** base64url of the publication's first root, `1.root.json`, byte for byte. */
  readonly root: string;
  readonly sets: readonly BundledSet[];
  /** base64url of the site settings, as they are signed with the publication; left out where there is no reading site. */
  readonly settings?: string;
  /** base64url of the Ed25519 seed of the timestamp role. Left out where the publisher signs timestamps itself. */
  readonly timestampKey?: string;
}

interface BundleHeader {
  /** Seconds since 1970. */
  readonly issued: number;
  readonly kem: string;
  readonly payloadDigest: string;
  readonly publisherKey: string;
  /** Key id of the key server's X-Wing key. */
  readonly recipient: KeyId;
  /** Grows with every bundle of a workspace; a key server refuses to go back. */
  readonly serial: number;
  /** base64url of 16 random bytes, made when the workspace was. */
  readonly workspace: string;
}

export interface OpenedBundle extends KeyBundle {
  readonly issued: number;
  /** Key id of the publisher key that signed the bundle. */
  readonly publisher: KeyId;
  /** Key id of the key server's X-Wing key that it was sealed to. */
  readonly recipient: KeyId;
  readonly serial: number;
  readonly workspace: string;
}

export async function recipientIdOf(publicKey: Uint8Array): Promise<KeyId> {
  return toBase64url(await sha256(concat(utf8('wispr/1 recipient key id\n'), publicKey)));
}

/**
 * Seals `bundle` to the key server that holds `recipient`, and signs it.
 *
 * @throws KeyError `bundle-recipient` if `recipient` is not a sound X-Wing public key
 */
export async function encodeBundle(
  bundle: KeyBundle,
  about: { readonly issued: number; readonly serial: number; readonly workspace: string },
  recipient: Uint8Array,
  publisher: KeyPair,
): Promise<Uint8Array> {
  checkRecipient(recipient);
  const { ciphertext, sharedSecret } = xwingEncapsulate(recipient);
  const recipientId = await recipientIdOf(recipient);
  const publisherId = await keyIdOf('publisher', publisher.publicKey);
  const context = bundleContext(recipientId, publisherId);
  const payload = await sealMessage(
    await bundleKey(sharedSecret, context),
    context,
    canonicalJson(bundle as unknown as JsonObject),
  );
  const header: BundleHeader = {
    ...about,
    kem: toBase64url(ciphertext),
    payloadDigest: toBase64url(await sha256(payload)),
    publisherKey: toBase64url(publisher.publicKey),
    recipient: recipientId,
  };
  const headerBytes = canonicalJson({ ...header });
  const signature = ed25519Sign(concat(SIGNATURE_LABEL, headerBytes), publisher.secretKey);
  return concat(MAGIC, u32(headerBytes.length), headerBytes, signature, payload);
}

/** The checks on a device's X-Wing public key hold for a key server's too. */
function checkRecipient(publicKey: Uint8Array): void {
  try {
    checkXwingPublicKey(publicKey);
  } catch (cause) {
    throw new KeyError('bundle-recipient', "the key server's public key is malformed", { cause });
  }
}

/**
 * Opens a bundle at the key server: steps B1 to B4. The caller verifies the
 * descriptor, and compares publisher, root, workspace and serial with what it knows, steps B5 and B6.
 *
 * @param recipients - the key pairs that it may be sealed to
 * @throws KeyError `bundle-malformed`, `bundle-recipient`
 */
export async function openBundle(bytes: Uint8Array, ...recipients: readonly KeyPair[]): Promise<OpenedBundle> {
  const { header, payload } = await readSignedBundle(bytes);
  // B3
  const ids = await Promise.all(recipients.map(({ publicKey }) => recipientIdOf(publicKey)));
  const recipient = recipients[ids.indexOf(header.recipient)];
  if (recipient === undefined) throw new KeyError('bundle-recipient', 'the bundle was sealed for another key server');
  const publisher = await keyIdOf('publisher', fromBase64url(header.publisherKey, KEY_LENGTH) as Uint8Array);
  // B4
  const sharedSecret = xwingDecapsulate(
    fromBase64url(header.kem, XWING_CIPHERTEXT_LENGTH) as Uint8Array,
    recipient.secretKey,
  );
  const context = bundleContext(header.recipient, publisher);
  const message = sharedSecret && (await openMessage(await bundleKey(sharedSecret, context), context, payload));
  const bundle = message && parseCanonicalJson(message);
  if (!isKeyBundle(bundle)) throw unreadable('the bundle does not decrypt to a list of keys');
  for (const set of bundle.sets) await checkKeyOf('set', set, `the set "${set.name}"`);
  for (const period of bundle.periods ?? [])
    await checkKeyOf('period', period, `a period of the plan "${period.plan}"`);
  const { issued, serial, workspace } = header;
  return { ...bundle, issued, publisher, recipient: header.recipient, serial, workspace };
}

/** The end of step B4: each key hashes to its id. */
async function checkKeyOf(kind: 'period' | 'set', { id, key }: BundledSet | BundledPeriod, of: string): Promise<void> {
  const bytes = fromBase64url(key, KEY_LENGTH);
  if (bytes === undefined || (await keyIdOf(kind, bytes)) !== id)
    throw unreadable(`the key of ${of} is not the one it is named`);
}

/** Steps B1 and B2. */
async function readSignedBundle(bytes: Uint8Array): Promise<{ header: BundleHeader; payload: Uint8Array }> {
  if (bytes.length > MESSAGE_LIMITS.bundle || bytes.length < MAGIC.length + 4) throw malformed('its length');
  if (!equalBytes(bytes.subarray(0, MAGIC.length), MAGIC)) throw malformed('it is not a key bundle of version 1');
  const length = readU32(bytes, MAGIC.length);
  const start = MAGIC.length + 4;
  if (length > MESSAGE_LIMITS.bundleHeader || bytes.length < start + length + SIGNATURE_LENGTH)
    throw malformed('its header length');
  const headerBytes = bytes.subarray(start, start + length);
  const signature = bytes.subarray(start + length, start + length + SIGNATURE_LENGTH);
  const payload = bytes.subarray(start + length + SIGNATURE_LENGTH);
  const { header, publisherKey } = parseBundleHeader(headerBytes);
  // B2
  if (!(await ed25519Verify(signature, concat(SIGNATURE_LABEL, headerBytes), publisherKey))) {
    throw new KeyError('bundle-malformed', "the bundle's signature is not valid");
  }
  if (toBase64url(await sha256(payload)) !== header.payloadDigest) throw malformed('its payload is not the signed one');
  return { header, payload };
}

/** Step B1, for the header. */
function parseBundleHeader(bytes: Uint8Array): { header: BundleHeader; publisherKey: Uint8Array } {
  const message = parseMessage(bytes, MESSAGE_LIMITS.bundleHeader);
  const members = ['issued', 'kem', 'payloadDigest', 'publisherKey', 'recipient', 'serial', 'workspace'];
  if (!message || !hasMembers(message, members)) throw malformed('its header');
  const { issued, kem, publisherKey, recipient, serial, workspace } = message;
  const key = fromBase64url(publisherKey, KEY_LENGTH);
  const lengths = fromBase64url(kem, XWING_CIPHERTEXT_LENGTH) && fromBase64url(workspace, 16) && isKeyId(recipient);
  if (!lengths || !key || typeof issued !== 'number' || typeof serial !== 'number')
    throw malformed('a member of its header');
  return { header: message as unknown as BundleHeader, publisherKey: key };
}

function isKeyBundle(value: Json | undefined): value is JsonObject & KeyBundle {
  if (
    !isJsonObject(value) ||
    !hasMembers(value, ['descriptor', 'root', 'sets'], ['periods', 'settings', 'timestampKey'])
  )
    return false;
  const { descriptor, periods = [], root, sets, settings, timestampKey } = value;
  if (!Array.isArray(periods) || periods.length > MAXIMUM_PERIODS || !periods.every(isBundledPeriod)) return false;
  if (timestampKey !== undefined && fromBase64url(timestampKey, KEY_LENGTH) === undefined) return false;
  if (settings !== undefined && fromBase64url(settings) === undefined) return false;
  const texts = fromBase64url(descriptor) !== undefined && fromBase64url(root) !== undefined;
  return texts && Array.isArray(sets) && sets.every(isBundledSet);
}

function isBundledSet(value: Json): boolean {
  if (!isJsonObject(value) || !hasMembers(value, ['id', 'key', 'name', 'site'])) return false;
  return (
    isKeyId(value.id) &&
    fromBase64url(value.key, KEY_LENGTH) !== undefined &&
    typeof value.name === 'string' &&
    isSite(value.site)
  );
}

function isBundledPeriod(value: Json): boolean {
  if (!isJsonObject(value)) return false;
  if (!hasMembers(value, ['from', 'id', 'key', 'plan', 'sets', 'site', 'until'], ['zone'])) return false;
  const { from, id, key, plan, sets, site, until, zone } = value;
  return (
    isKeyId(id) &&
    fromBase64url(key, KEY_LENGTH) !== undefined &&
    typeof plan === 'string' &&
    isSite(site) &&
    Array.isArray(sets) &&
    sets.every((pattern) => typeof pattern === 'string') &&
    (zone === undefined || typeof zone === 'string') &&
    typeof from === 'number' &&
    typeof until === 'number' &&
    from <= until
  );
}

function bundleContext(recipient: KeyId, publisher: KeyId): Uint8Array {
  return lengthPrefixed(utf8('wispr/1 key bundle'), keyIdBytes(recipient), keyIdBytes(publisher));
}

function bundleKey(sharedSecret: Uint8Array, context: Uint8Array): Promise<Uint8Array> {
  return hkdfExpand(sharedSecret, context, KEY_LENGTH);
}

function unreadable(why: string): KeyError {
  return new KeyError('bundle-malformed', why);
}

function malformed(what: string): KeyError {
  return new KeyError('bundle-malformed', `the key bundle is malformed: ${what}`);
}

/**
 * The envelope of every metadata file (TUF specification section 4.2): `{"signatures":[…],"signed":{…}}`. Nothing of `signed` is looked at
 * before its signatures are; what is read afterwards is what was signed.
 */
import { concat, fromUtf8, utf8 } from '../encoding/bytes.ts';
import { type TufJson, type TufObject, tufCanonical, tufCanonicalText } from './canonical.ts';
import { PublicationError } from './errors.ts';
import { countSigners, type RoleKeys, type SignatureVerifier, type TufKey, type TufSignature } from './keys.ts';
import { PUBLICATION_LIMITS } from './limits.ts';

/** A metadata file whose outermost form is right, and nothing else known. */
export interface Envelope {
  readonly signatures: readonly TufSignature[];
  /** The bytes that have to be signed. */
  readonly message: Uint8Array;
  /** Reads these bytes; to be called once enough keys have signed them. */
  readonly signed: () => TufObject;
  /** A second reading of the same file, to be tried where the signatures are not over this one's message. */
  readonly otherwise?: () => Envelope;
}

/** Form in which this project writes an envelope: its signed bytes need not be made again, only found. */
const OUR_FORM = /^\{"signatures":(\[(?:\{"keyid":"[0-9a-f]{64}","sig":"[0-9a-f]{128}"\},?){1,64}\]),"signed":(?=\{)/;
const START_LENGTH = 16_384;
/** Decoder that never fails, and gives one character a byte. */
const latin1 = new TextDecoder('latin1');

/**
 * Opens an envelope without believing it.
 *
 * @param role - for messages
 * @param maximum - bytes of a file in which the signed bytes do not stand as they were signed
 * @throws PublicationError `metadata-malformed`
 */
export function openEnvelope(
  bytes: Uint8Array,
  role: string,
  maximum: number = PUBLICATION_LIMITS.otherFormLength,
): Envelope {
  return openOurForm(bytes, role, maximum) ?? openAnyForm(bytes, role, maximum);
}

/**
 * @returns the envelope, in the reading that was signed
 * @throws PublicationError `metadata-signature` if fewer of the role's keys have signed than its threshold wants
 */
export async function checkSignatures(
  envelope: Envelope,
  role: string,
  roleKeys: RoleKeys,
  keys: ReadonlyMap<string, TufKey>,
  verify: SignatureVerifier,
): Promise<Envelope> {
  const count = await countSigners(envelope.signatures, envelope.message, roleKeys, keys, verify);
  if (count >= roleKeys.threshold) return envelope;
  if (envelope.otherwise) return checkSignatures(envelope.otherwise(), role, roleKeys, keys, verify);
  const message = `${role} is signed by ${count} of its keys, and needs ${roleKeys.threshold}`;
  throw new PublicationError('metadata-signature', message);
}

/** The bytes of an envelope in this project's form. */
export function encodeEnvelope(signatures: readonly TufSignature[], message: Uint8Array): Uint8Array {
  const list = signatures.map(({ keyid, sig }) => ({ keyid, sig }));
  return concat(utf8(`{"signatures":${tufCanonicalText(list)},"signed":`), message, utf8('}'));
}

function openOurForm(bytes: Uint8Array, role: string, maximum: number): Envelope | undefined {
  const start = latin1.decode(bytes.subarray(0, START_LENGTH));
  const match = OUR_FORM.exec(start);
  if (match === null || bytes.at(-1) !== 0x7d) return undefined;
  const message = bytes.subarray(match[0].length, -1);
  const signatures = parse(utf8(match[1] ?? ''));
  if (!Array.isArray(signatures)) return undefined;
  return {
    signatures: checkEach(signatures, role),
    message,
    signed: () => parseObject(message),
    // Programs of others write this form too, but sign the canonical one: they differ where there are escapes.
    otherwise: () => openAnyForm(bytes, role, maximum),
  };
}

/** Reads and writes all of it again before anything in it is known to be signed: so it must not be as long as others may be. */
function openAnyForm(bytes: Uint8Array, role: string, maximum: number): Envelope {
  if (bytes.length > maximum) throw malformed(role);
  const value = parse(bytes);
  if (!isTufObject(value) || !isTufObject(value.signed) || !Array.isArray(value.signatures)) throw malformed(role);
  const { signed, signatures } = value;
  try {
    return { signatures: checkEach(signatures, role), message: tufCanonical(signed), signed: () => signed };
  } catch (error) {
    throw error instanceof PublicationError ? error : malformed(role, error);
  }
}

/** Checks that there are not too many signatures, each is of its form, and each key id stands once (4.2). */
function checkEach(signatures: readonly TufJson[], role: string): TufSignature[] {
  if (signatures.length > PUBLICATION_LIMITS.signatures || !signatures.every(isSignature)) throw malformed(role);
  if (new Set(signatures.map(({ keyid }) => keyid)).size < signatures.length) throw malformed(role);
  return signatures as unknown as TufSignature[];
}

function malformed(role: string, cause?: unknown): PublicationError {
  return new PublicationError('metadata-malformed', `the metadata of ${role} are not of TUF's form`, { cause });
}

function parseObject(bytes: Uint8Array): TufObject {
  const value = parse(bytes);
  if (!isTufObject(value)) throw new PublicationError('metadata-malformed', 'signed metadata are not an object');
  return value;
}

function parse(bytes: Uint8Array): TufJson | undefined {
  try {
    return JSON.parse(fromUtf8(bytes) ?? '') as TufJson;
  } catch {
    return undefined;
  }
}

function isSignature(value: TufJson): value is { keyid: string; sig: string } {
  return isTufObject(value) && typeof value.keyid === 'string' && typeof value.sig === 'string';
}

/** Tells whether `value` is an object, and no array. */
export function isTufObject(value: TufJson | undefined): value is TufObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

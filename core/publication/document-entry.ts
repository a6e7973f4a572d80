/** Entry of a publication for one document: docs/spec/publication.md, "Targets". */
import { isKeyId, type KeyId } from '../crypto/key-id.ts';
import { fromHex } from '../encoding/hex.ts';
import type { TufObject } from './canonical.ts';
import { isTufObject } from './envelope.ts';
import { PublicationError } from './errors.ts';
import type { TargetInfo } from './metadata.ts';

export interface DocumentEntry {
  /** SHA-256 of the object's head, hexadecimal. */
  readonly head: string;
  readonly headLength: number;
  /** Key id of the set key; `undefined` for a public document. */
  readonly set: KeyId | undefined;
  /** SHA-256 of a public document's content, hexadecimal. */
  readonly content: string | undefined;
  /** Tells whether the object lies inside the page at the document's own URL. */
  readonly inPage: boolean;
  /** True if a bin names it: then the head needs no signature of its own. */
  readonly inBin?: boolean;
}

export function encodeDocumentTarget({ head, headLength, set, content, inPage }: DocumentEntry): TufObject {
  const wispr = {
    ...(inPage && { carrier: 'html' }),
    ...(content !== undefined && { content }),
    ...(set !== undefined && { set }),
  };
  return { custom: { wispr }, hashes: { sha256: head }, length: headLength };
}

/**
 * @param path - the document's, for the message
 * @throws PublicationError `metadata-malformed`
 */
export function documentEntryOf(target: TargetInfo, path: string): DocumentEntry {
  let entry = entries.get(target);
  if (entry === undefined) {
    entry = readEntry(target, path);
    entries.set(target, entry);
  }
  return entry;
}

/** Targets that are found again and again are read once. */
const entries = new WeakMap<TargetInfo, DocumentEntry>();

function readEntry({ custom, length, sha256, inBin = false }: TargetInfo, path: string): DocumentEntry {
  const { set, content, carrier } = isTufObject(custom?.wispr) ? custom.wispr : {};
  const one = (set === undefined) !== (content === undefined);
  const good = (set === undefined || isKeyId(set)) && (content === undefined || fromHex(content, 32) !== undefined);
  if (!one || !good || (carrier !== undefined && carrier !== 'html'))
    throw new PublicationError(
      'metadata-malformed',
      `what the publication says about ${JSON.stringify(path)} is malformed`,
    );
  return {
    head: sha256,
    headLength: length,
    set: set as KeyId | undefined,
    content: content as string | undefined,
    inPage: carrier === 'html',
    inBin,
  };
}

/** The first root of a publication, as far as keys and bindings look at it: its bytes, and the id that they give a publisher. */
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { utf8 } from '../../core/encoding/bytes.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import { rootIdOf } from '../../core/publication/writer.ts';

export interface FirstRoot {
  readonly bytes: Uint8Array;
  /** The publisher's identity. */
  readonly id: KeyId;
}

export async function createFirstRoot(): Promise<FirstRoot> {
  const bytes = utf8(`stand-in for a root ${toBase64url(randomBytes(16))}`);
  return { bytes, id: await rootIdOf(bytes) };
}

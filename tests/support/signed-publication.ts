/** Publications of the publishers in tests: fresh keys, and what a content host gets. */
import { ed25519KeyPair, randomBytes } from '#primitives';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { ByteReader, streamOf } from '../../core/encoding/byte-reader.ts';
import { readUnverifiedHead } from '../../core/object/read-head.ts';
import { roleSigner } from '../../core/publication/keys.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { FirstRoot } from './first-root.ts';
import { TestPublication, type TimestampWish } from './test-publication.ts';

/** A publication with fresh keys; the root is as bindings and key servers want it. */
export async function createPublication(): Promise<{ root: FirstRoot; publication: TestPublication }> {
  const timestampSeed = randomBytes(32);
  const fresh = () => roleSigner(ed25519KeyPair(randomBytes(32)));
  const signers = {
    root: await fresh(),
    targets: await fresh(),
    snapshot: await fresh(),
    timestamp: await roleSigner(ed25519KeyPair(timestampSeed)),
  };
  const of = (name: keyof typeof signers) => ({ signers: [signers[name]], threshold: 1 });
  const roles = { root: of('root'), targets: of('targets'), snapshot: of('snapshot'), timestamp: of('timestamp') };
  const publication = await TestPublication.create(nowInSeconds(), roles);
  return {
    root: { bytes: publication.firstRoot, id: publication.rootId as KeyId, signers, timestampSeed },
    publication,
  };
}

/** Bytes of an object's head; all of it, where it is not the head of an object. */
export async function headLengthOf(object: Uint8Array): Promise<number> {
  const head = await readUnverifiedHead(new ByteReader(streamOf(object))).catch(() => undefined);
  return head?.length ?? object.length;
}

/** Signs what there is as a new publication, and puts it on a content host. */
export async function signOnto(
  publication: TestPublication,
  files: Map<string, Uint8Array>,
  wish: TimestampWish = {},
): Promise<void> {
  const now = nowInSeconds();
  // Tests publish oftener than once a second, and versions of timestamps are times.
  await publication.publish(now - 3600, { expires: now + 172_800, ...wish });
  for (const [path, bytes] of publication.files) files.set(path, bytes);
}

/** A publisher and a set, for tests of objects. */
import { ed25519KeyPair, randomBytes } from '#primitives';
import { publisherIdentity } from '../../core/object/writer.ts';
import { createSetKey } from './publisher-with-sets.ts';

export const publisher = await publisherIdentity(ed25519KeyPair(randomBytes(32)));
export const set = await createSetKey();
export const { key } = set;

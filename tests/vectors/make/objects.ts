import type { ObjectVectorFile } from '../format.ts';
import { refusedCarriers } from './objects-carrier.ts';
import { goodObjects } from './objects-good.ts';
import { refusedHeads } from './objects-head.ts';
import { refusedPayloads } from './objects-payload.ts';
import { sampleVector } from './sample.ts';
import { READER } from './vector.ts';

/** protected-object.json */
export async function makeObjectVectors(): Promise<ObjectVectorFile> {
  const vectors = [
    await sampleVector(),
    ...(await goodObjects()),
    ...(await refusedHeads()),
    ...(await refusedPayloads()),
    ...(await refusedCarriers()),
  ];
  return { reader: READER, vectors };
}

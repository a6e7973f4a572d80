/** Program that tests/core/chromium.test.ts bundles and runs in a page: core on WebCrypto, and the runners of the vectors. */
import type { CanonicalJsonVectorFile, KeyVectorFile, ObjectVectorFile, PathVectorFile } from '../format.ts';
import {
  type CctvFile,
  cctvSignatures,
  runSignatures,
  type SignatureOutcome,
  type WycheproofFile,
  wycheproofSignatures,
} from './ed25519.ts';
import { type KeyOutcome, runKeyVector } from './keys.ts';
import { type ObjectOutcome, runObjectVector } from './objects.ts';
import { type PublicationOutcome, runPublication } from './publication.ts';
import { runCanonicalJsonVectors, runPathVectors } from './texts.ts';

/** Report of the page. An error that is no refusal becomes an outcome of its own, so that its vector shows it. */
export interface Report {
  readonly objects: readonly ({ name: string } & ObjectOutcome)[];
  readonly objectsInPieces: readonly ({ name: string } & ObjectOutcome)[];
  readonly keys: readonly ({ name: string } & KeyOutcome)[];
  readonly paths: PathVectorFile;
  readonly canonicalJson: CanonicalJsonVectorFile;
  readonly publication: PublicationOutcome;
  readonly signatures: readonly SignatureOutcome[];
  readonly secureContext: boolean;
  readonly node: boolean;
}

const PIECE_LENGTH = 997;

async function runVectors(): Promise<Report> {
  const objects = await load<ObjectVectorFile>('protected-object.json');
  const keys = await load<KeyVectorFile>('keys.json');
  return {
    objects: await each(objects.vectors, (vector) => runObjectVector(objects, vector, 2 ** 30)),
    objectsInPieces: await each(objects.vectors, (vector) => runObjectVector(objects, vector, PIECE_LENGTH)),
    keys: await each(keys.vectors, runKeyVector),
    paths: runPathVectors(await load('paths.json')),
    canonicalJson: runCanonicalJsonVectors(await load('canonical-json.json')),
    publication: await runPublication(),
    signatures: await runSignatures([
      ...wycheproofSignatures(await load<WycheproofFile>('third-party/wycheproof_ed25519_test.json')),
      ...cctvSignatures(await load<CctvFile>('third-party/cctv_ed25519vectors.json')),
    ]),
    secureContext: globalThis.isSecureContext,
    node: 'process' in globalThis,
  };
}

async function load<File>(name: string): Promise<File> {
  return (await fetch(`/${name}`)).json() as Promise<File>;
}

async function each<Vector extends { name: string }, Outcome>(
  vectors: readonly Vector[],
  run: (vector: Vector) => Promise<Outcome>,
): Promise<({ name: string } & Outcome)[]> {
  const outcomes: ({ name: string } & Outcome)[] = [];
  for (const vector of vectors) {
    const outcome = await run(vector).catch((error) => ({ outcome: `crash: ${error}` }) as Outcome);
    outcomes.push({ name: vector.name, ...outcome });
  }
  return outcomes;
}

Object.assign(globalThis, { runVectors });

/** A reader's own work for a cold start and for a look-up: source and store are in memory. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Updater } from 'tuf-js';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type Contestant, milliseconds, type Row, sideBySide } from '../measure.ts';
import { type LargePublication, pathOf, publicationOf, readCold, spread } from '../publication-of.ts';

const RUNS = 15;
const LOOK_UPS = 100;
const LARGE = 1_000_000;
const PEER_DOCUMENTS = 10_000;

export async function publicationCheck(): Promise<Row[]> {
  const now = nowInSeconds();
  const rows: Row[] = [];
  for (const documents of [100, PEER_DOCUMENTS, LARGE]) {
    const publication = await publicationOf(documents, now);
    rows.push(await costOf(publication, now));
    if (documents === LARGE) rows.push(...(await coldStart(publication, now)), ...(await lookUps(publication, now)));
    if (documents === PEER_DOCUMENTS) rows.push(...(await besideTufJs(publication, now)));
  }
  return rows;
}

async function costOf(publication: LargePublication, now: number): Promise<Row> {
  const { source } = await readCold(publication, now);
  const bytes = source.fetched.reduce((sum, { length }) => sum + length, 0);
  return {
    row: `publication-check: cold start, ${publication.documents}`,
    value: bytes,
    unit: 'bytes',
    peer: 'requests',
    peerValue: source.requests,
    ratio: Math.round(bytes / source.requests),
    runs: 1,
    bound: 'the snapshot and one bin: both grow as the square root of the documents',
  };
}

async function coldStart(publication: LargePublication, now: number): Promise<Row[]> {
  const { source } = await readCold(publication, now);
  const contestants: Contestant[] = [
    { name: 'wispr', run: () => milliseconds(() => readCold(publication, now)) },
    { name: 'SHA-256 and JSON.parse of the same', run: () => milliseconds(() => source.fetched.forEach(hashAndParse)) },
  ];
  const bound = 'one core: JSON.parse of the snapshot, SHA-256, and an entry for each bin';
  const row = { row: 'publication-check: cold start', unit: 'ms', runs: RUNS, bound };
  return sideBySide(row, contestants);
}

async function lookUps(publication: LargePublication, now: number): Promise<Row[]> {
  const { source, site } = await readCold(publication, now);
  const bins: Uint8Array[] = [];
  let next = 1;
  const each = (work: () => Promise<void> | void) => async () => (await milliseconds(work)) / LOOK_UPS;
  const contestants: Contestant[] = [
    {
      name: 'wispr',
      run: each(async () => {
        source.fetched.length = 0;
        for (let count = 0; count < LOOK_UPS; count++) await site.document(pathOf(spread(next++, LARGE)), now);
        bins.splice(0, bins.length, ...source.fetched);
      }),
    },
    { name: 'SHA-256 and JSON.parse of the same', run: each(() => bins.forEach(hashAndParse)) },
  ];
  const bound = 'one core: SHA-256 and JSON.parse of a bin that was not there yet, one signature';
  const row = { row: 'publication-check: look-up', unit: 'ms', runs: RUNS, bound };
  return sideBySide(row, contestants);
}

/** tuf-js, with its files from memory too, and its own metadata in a folder as it wants. */
async function besideTufJs(publication: LargePublication, now: number): Promise<Row[]> {
  const contestants: Contestant[] = [
    { name: 'wispr', run: () => milliseconds(() => readCold(publication, now)) },
    { name: 'tuf-js', run: () => readWithTufJs(publication) },
  ];
  const row = { row: `publication-check: ${publication.documents}`, unit: 'ms', runs: RUNS, bound: 'as above' };
  return sideBySide(row, contestants);
}

async function readWithTufJs({ files }: LargePublication): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'wispr-bench-'));
  try {
    const metadataDir = join(folder, 'metadata');
    await mkdir(metadataDir);
    await writeFile(join(metadataDir, 'root.json'), files.get(`${METADATA_PATH}1.root.json`) ?? '');
    const downloadBytes = async (url: string) => {
      const bytes = files.get(new URL(url).pathname);
      if (bytes === undefined) throw new Error(`there is no ${url}`);
      return Buffer.from(bytes);
    };
    const fetcher = { downloadBytes, downloadFile: () => Promise.reject(new Error('nothing is downloaded')) };
    const config = { maxRootRotations: 0 }; // avoids a request for a root that is not there
    const options = { metadataDir, metadataBaseUrl: `http://site.invalid${METADATA_PATH}`, fetcher, config };
    return await milliseconds(async () => {
      const updater = new Updater(options);
      await updater.refresh();
      const found = await updater.getTargetInfo(`${pathOf(0).slice(1)}.protected`);
      if (found === undefined) throw new Error('tuf-js does not find the document');
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function hashAndParse(bytes: Uint8Array): void {
  createHash('sha256').update(bytes).digest();
  JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
}

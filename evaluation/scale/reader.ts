/** Begins with nothing and looks documents up; prints what that took: `node reader.ts PROTECTED_FOLDER DOCUMENTS`. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { median } from '../../bench/measure.ts';
import { emptyStore, sourceOf, spread } from '../../bench/publication-of.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { SitePublication } from '../../core/publication/site-publication.ts';
import { rootIdOf } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { pathOf, type Read } from './documents.ts';

const LOOK_UPS = 100;

const [folder = '', documents = ''] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await read(folder, Number(documents))));

async function read(folder: string, documents: number): Promise<Read> {
  const rootId = await rootIdOf(await readFile(join(folder, METADATA_PATH, '1.root.json')));
  const now = nowInSeconds();
  let fetched = 0;
  const source = sourceOf(async (urlPath) => {
    const bytes = await readFile(join(folder, decodeURIComponent(urlPath))).catch(() => undefined);
    fetched += bytes?.length ?? 0;
    return bytes;
  });
  /** Bytes that `work` fetches. */
  const bytesOf = async (work: () => Promise<unknown>) => {
    const before = fetched;
    await work();
    return fetched - before;
  };
  const begin = async () => {
    const site = new SitePublication({ rootId, source, store: emptyStore() });
    await site.refresh(now);
    await lookUp(site, 0, now);
    return site;
  };
  const coldBytes = await bytesOf(begin);
  const site = await begin();
  const sizes: number[] = [];
  for (let count = 1; count <= LOOK_UPS; count++) {
    const bytes = await bytesOf(() => lookUp(site, spread(count, documents), now));
    if (bytes > 0) sizes.push(bytes); // skips documents of a bin that is there
  }
  return { coldBytes, lookUpBytes: median(sizes) };
}

async function lookUp(site: SitePublication, number: number, now: number): Promise<void> {
  if ((await site.document(pathOf(number), now)) === undefined) throw new Error(`${pathOf(number)} is not published`);
}

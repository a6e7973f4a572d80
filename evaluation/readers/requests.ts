/** Requests of a visit: recorded once, and replayed with each cache. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { emptyStore } from '../../bench/publication-of.ts';
import { FIRST_ROOT_FILE, METADATA_PATH, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import { SitePublication, type SiteSource } from '../../core/publication/site-publication.ts';
import { inTurn } from '../../core/publication/sources.ts';
import { urlPathOf } from '../../core/site/path.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { objectUrl, payloadUrl } from '../../reading/open-at.ts';
import type { Visit } from './visits.ts';

/** URL paths, in their order. */
export type Requests = readonly string[];

export function requestsInClear(visit: Visit): Requests {
  return visit.map(urlPathOf);
}

/**
 * Returns requests of a Reader that is connected and reads for the first time. Its own client of publications chooses and verifies the metadata, once
 * when it is connected and once to read, and the objects are those that they name. Root and timestamp come from the key server, and are not here.
 *
 * @param out - the protected site
 * @param rootId - of the publisher
 */
export async function requestsForProtected(visit: Visit, out: string, rootId: string): Promise<Requests> {
  const asked: string[] = [];
  const source = sourceIn(out, asked);
  const open = () => new SitePublication({ rootId, source, store: emptyStore() });
  const connected = open();
  await connected.refresh(nowInSeconds());
  await connected.descriptor();
  const publication = open();
  await publication.refresh(nowInSeconds());
  await publication.resolve('/', nowInSeconds()); // a Reader asks for its key beforehand
  for (const path of visit) {
    const entry = await publication.document(path, nowInSeconds());
    if (entry === undefined) throw new Error(`the publication has no ${path}`);
    asked.push(...new Set([objectUrl(path, entry), payloadUrl(path, entry)]));
  }
  return asked;
}

function sourceIn(out: string, asked: string[]): SiteSource {
  const read = (urlPath: string) => readFile(join(out, decodeURIComponent(urlPath))).catch(() => undefined);
  const ask = (urlPath: string) => {
    asked.push(urlPath);
    return read(urlPath);
  };
  return {
    file: ask,
    metadata: async (name) => (name === FIRST_ROOT_FILE ? read(METADATA_PATH + name) : ask(METADATA_PATH + name)),
    timestamps: (_, isEnough) => inTurn([() => read(METADATA_PATH + TIMESTAMP_FILE)], isEnough),
  };
}

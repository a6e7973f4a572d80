/** Reads the documents of a site for `wispr check`, in batches: on this thread, or on several. */
import { AnsweringThread } from '../../node-support/answering-thread.ts';
import { programOfThread } from '../../node-support/program-files.ts';
import { mediaTypeOf } from '../site/media-type.ts';
import { SiteMap } from '../site/redirects.ts';
import { SetRules } from '../site/sets.ts';
import { settingsOf } from '../site/site-settings.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import { ContentCheck, type OwnWord } from './content-check.ts';
import { type FilesMemory, SiteFiles } from './files.ts';
import { LinkCheck, type LinkedSite } from './links.ts';
import { type FindingGroups, Findings } from './report.ts';

/** What readers of documents need to know of their site; plain data, for threads. */
export interface SiteData {
  readonly configuration: Configuration;
  /** The site directory, absolute. */
  readonly source: string;
  readonly files: FilesMemory;
  /** Paths of files that `wispr protect` would refuse. */
  readonly refused: ReadonlySet<string>;
}

/** Files by their indices: from the first to before the last. */
export interface Batch {
  readonly from: number;
  readonly to: number;
}

export interface BatchAnswer {
  /** One for each file. */
  readonly words: readonly OwnWord[];
  readonly found: FindingGroups;
}

export class BatchReader {
  readonly #files: SiteFiles;
  readonly #isPublic: (path: string) => boolean;
  readonly #findings = new Findings();
  readonly #content: ContentCheck;

  constructor(data: SiteData) {
    const rules = new SetRules(data.configuration);
    this.#files = new SiteFiles(data.files);
    this.#isPublic = (path) => rules.decide(path, undefined).set === undefined;
    const site = linkedSite(data, this.#files, this.#isPublic);
    this.#content = new ContentCheck(
      new LinkCheck(site, this.#findings),
      this.#findings,
      site.hosts,
      data.configuration,
    );
  }

  read({ from, to }: Batch): BatchAnswer {
    const words = Array.from({ length: to - from }, (_, index) => {
      const file = this.#files.at(from + index);
      return this.#content.read(file, mediaTypeOf(file.path), this.#isPublic(file.path));
    });
    return { words, found: this.#findings.take() };
  }
}

/**
 * What links need to know of a site.
 *
 * @param isPublic - asked for documents only
 */
export function linkedSite(
  { configuration, source, refused }: Pick<SiteData, 'configuration' | 'source' | 'refused'>,
  documents: { has(path: string): boolean },
  isPublic: (path: string) => boolean,
): LinkedSite {
  const has = (path: string) => documents.has(path);
  const settings = settingsOf(configuration, (path) =>
    has(path) ? (isPublic(path) ? 'public' : 'protected') : undefined,
  );
  return {
    site: configuration.site,
    hosts: hostsOf(configuration),
    source,
    map: new SiteMap(settings, has),
    refused,
    isProtected: (path) => has(path) && !isPublic(path),
  };
}

/** Hosts that are the site, or serve what is published of it: none of them has a Reader in front of it. */
function hostsOf({ site, content }: Configuration): Set<string> {
  const origins = typeof content === 'string' ? [content] : content;
  return new Set([site, ...origins.map((origin) => new URL(origin).hostname)]);
}

/** Files in a batch, and bytes in it: small enough that all threads end at about the same time. */
const BATCH_FILES = 64;
const BATCH_BYTES = 2 * 1024 * 1024;
/** Batches of a thread under way: answers that wait take memory. */
const AHEAD = 4;
/** Mebibytes of young objects: a page is many small ones. */
const YOUNG_GENERATION = 16;

/**
 * Reads all files, in their order.
 *
 * @param threads - how many; a single batch is read on this one
 */
export async function* readDocuments(data: SiteData, threads: number): AsyncGenerator<Batch & BatchAnswer> {
  const batches = batchesOf(new SiteFiles(data.files));
  if (threads === 1 || batches.length <= 1) {
    const reader = new BatchReader(data);
    for (const batch of batches) yield { ...batch, ...reader.read(batch) };
    return;
  }
  const program = programOfThread('check-thread', import.meta.url);
  const pool = Array.from(
    { length: Math.min(threads, batches.length) },
    () => new AnsweringThread<Batch, BatchAnswer>(program, YOUNG_GENERATION),
  );
  for (const thread of pool) thread.send(data);
  try {
    const answers: Promise<BatchAnswer>[] = [];
    for (const [index, batch] of batches.entries()) {
      for (let next = index + answers.length; answers.length < AHEAD * pool.length && next < batches.length; next++) {
        const answer = (pool[next % pool.length] as (typeof pool)[0]).ask(batches[next] as Batch);
        answer.catch(() => undefined); // awaited below, unless an earlier one fails
        answers.push(answer);
      }
      yield { ...batch, ...((await answers.shift()) as BatchAnswer) };
    }
  } finally {
    await Promise.all(pool.map((thread) => thread.end()));
  }
}

function batchesOf(files: SiteFiles): Batch[] {
  const batches: Batch[] = [];
  let [from, bytes] = [0, 0];
  for (let index = 0; index < files.length; index++) {
    bytes += files.sizeOf(index);
    if (index + 1 - from < BATCH_FILES && bytes < BATCH_BYTES && index + 1 < files.length) continue;
    batches.push({ from, to: index + 1 });
    [from, bytes] = [index + 1, 0];
  }
  return batches;
}

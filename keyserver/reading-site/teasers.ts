/**
 * What the reading site shows of protected pages to people who may not read them: title, excerpt and picture, as on the fallback page, and made of
 * signed data alone. The page is opened as for any reader, with the set key that is here, and nothing of it goes further than {@link FallbackPage}.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { LRUCache } from 'lru-cache';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { SiteDescription } from '../../core/keys/descriptor.ts';
import { ObjectError } from '../../core/object/errors.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { documentPathOf } from '../../core/site/path.ts';
import { createDecoder } from '../../node-support/content-coding.ts';
import type { Representation } from '../../reading/representation.ts';
import { type DocumentAnswer, serveDocument } from '../../reading/serve-document.ts';
import { type FallbackPage, fallbackPageOf } from '../../teaser/fallback-page.ts';
import { readPage, type Teaser } from '../../teaser/page.ts';
import { FairQueue } from '../hashing/fair-queue.ts';
import type { Provider } from '../publication/provider.ts';
import { findKeyForTeaser } from '../readers/entitlement.ts';
import type { DocumentService } from './documents.ts';
import type { ReadPublications } from './publications.ts';

/** Bytes of a page that are looked at, as by a publisher. */
const PAGE_LENGTH = 8 * 1024 * 1024;
/** Milliseconds until those must be there. */
const TIMEOUT = 60_000;
/** Pages that are read at a time; others wait for their turn. */
const AT_A_TIME = 4;
const BOUNDS = { waitingPerAddress: 16, waitingPerSlot: 32 };
/** Characters that are kept. */
const KEPT = 16_777_216;

export interface TeaserDocument {
  readonly provider: Provider;
  readonly site: SiteDescription;
  readonly path: string;
  readonly entry: DocumentEntry;
}

/** What is kept of a document. */
interface Read {
  /** `undefined`: it is no page. */
  readonly teaser: Teaser | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

interface Asked extends TeaserDocument {
  /** Network address that asks first. */
  readonly address: string;
}

export class Teasers {
  readonly #service: DocumentService;
  readonly #publications: ReadPublications;
  readonly #queue = new FairQueue(BOUNDS, [...Array(AT_A_TIME).keys()]);
  /** By the hash of a head, which names its document. One that is asked for meanwhile is read once. */
  readonly #read: LRUCache<string, Read, Asked>;

  constructor(service: DocumentService, publications: ReadPublications) {
    this.#service = service;
    this.#publications = publications;
    this.#read = new LRUCache<string, Read, Asked>({
      maxSize: KEPT,
      sizeCalculation: ({ teaser, headers }) => lengthOf([teaser, headers, ...(teaser ? mapsOf(teaser) : [])]),
      ignoreFetchAbort: true,
      fetchMethod: (_head, _stale, { context }) =>
        this.#queue.run(context.address, () => readDocument(this.#service, context)),
    });
  }

  /**
   * What everybody may see of a protected document; `undefined` where it is no page.
   *
   * @param address - that asks
   * @throws ReadingError, PublicationError, ObjectError: what keeps the document from being opened; KeyServerError `busy`
   */
  async of(document: TeaserDocument, address: string): Promise<FallbackPage | undefined> {
    const { entry, path, provider, site } = document;
    const read = await this.#read.forceFetch(entry.head, { context: { ...document, address } }).catch(orNothing);
    if (!read?.teaser) return undefined;
    const settings = { ...this.#publications.settingsOf(provider, site), ...aboutSite(document) };
    const page = fallbackPageOf(path, read.teaser, settings, read.headers);
    const isShown = page.picture === '' || (await this.#isPublic(document, page.picture));
    const shown = isShown ? page : fallbackPageOf(path, read.teaser, { ...settings, previews: 'none' }, read.headers);
    return { ...shown, logo: (await this.#isPublic(document, shown.logo)) ? shown.logo : '' };
  }

  /** The headline of a page whose teaser was shown before. */
  headlineOf({ head }: DocumentEntry): string | undefined {
    const { teaser } = this.#read.peek(head) ?? {};
    return teaser && (teaser.openGraph.get('og:title') || teaser.title);
  }

  /** Tells whether everybody can load a file that a teaser shows. */
  async #isPublic({ provider, site }: TeaserDocument, urlPath: string): Promise<boolean> {
    const path = documentPathOf(urlPath);
    const { publication } = this.#publications.of(provider, site);
    const entry = path === undefined ? undefined : await publication.document(path, this.#service.state.now());
    return entry !== undefined && entry.set === undefined;
  }
}

/** A set whose key has not come from its publisher says nothing, as one that is no page. */
function orNothing(error: unknown): undefined {
  if (!(error instanceof ObjectError && error.code === 'key-missing')) throw error;
}

/** What a teaser says about its site. */
export function aboutSite({ provider, site }: Pick<TeaserDocument, 'provider' | 'site'>) {
  const [content = ''] = site.content;
  return { publisher: provider.descriptor.name, site: site.site, content, reading: site.reading };
}

/** Reads what a document says about itself. */
async function readDocument({ hosts, state }: DocumentService, asked: TeaserDocument): Promise<Read> {
  const { entry, path, provider, site } = asked;
  const transfer = new AbortController();
  const timer = setTimeout(() => transfer.abort(), TIMEOUT);
  try {
    const answer = await serveDocument({
      supply: hosts.supplyOf(site, path, entry, transfer.signal),
      wanted: { site: site.site, path, publisherKey: provider.descriptor.publisherKeyBytes, entry },
      context: { findKey: (id) => findKeyForTeaser(state, site.site, id), now: state.now() },
      request: { method: 'GET', headers: { 'accept-encoding': 'identity' } },
      status: 200,
      adapt: (carried) => carried,
    });
    const { headers } = answer;
    const isPage = /^text\/html\s*(?:;|$)/i.test(headers['content-type'] ?? '');
    return { teaser: isPage ? readTeaser(await beginningOf(answer)) : undefined, headers };
  } finally {
    clearTimeout(timer);
    transfer.abort(); // the rest of it is not wanted
  }
}

function readTeaser(bytes: Uint8Array): Teaser {
  return readPage(bytes, { cut: bytes.length === PAGE_LENGTH }).teaser;
}

/** The beginning of a page, without its coding. */
async function beginningOf({ begin, chosen: { undo } }: DocumentAnswer<Representation>): Promise<Uint8Array> {
  const { pieces } = await begin();
  const decoder = undo && createDecoder(undo);
  if (decoder) pipeline(Readable.from(pieces, { objectMode: false }), decoder).catch(() => undefined); // it is told too
  const content = new ByteReader(decoder ?? pieces);
  try {
    return await content.readUpTo(PAGE_LENGTH);
  } finally {
    await content.cancel();
  }
}

function mapsOf({ meta, openGraph, robots }: Teaser) {
  return [[...meta], [...openGraph], [...robots]];
}

function lengthOf(value: object): number {
  return JSON.stringify(value).length;
}

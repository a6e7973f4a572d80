/**
 * Shows protected pages in part, at the reading site, to people who may not read them: title, excerpt and picture, as on the fallback page, and made of
 * signed data alone. The page is opened as for any reader, with the set key that is here, and nothing of it goes further than {@link FallbackPage}.
 */
import { LRUCache } from 'lru-cache';
import { ObjectError } from '../../core/object/errors.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import { documentPathOf } from '../../core/site/path.ts';
import { type FallbackPage, fallbackPageOf } from '../../teaser/fallback-page.ts';
import { readPage, type Teaser } from '../../teaser/page.ts';
import { headlineOf } from '../../teaser/render.ts';
import { FairQueue } from '../hashing/fair-queue.ts';
import { findKeyForTeaser } from '../readers/entitlement.ts';
import { readBeginning } from './beginning.ts';
import type { DocumentService, SiteDocument } from './documents.ts';
import type { ReadPublications } from './publications.ts';

/** Bytes of a page that are looked at, as by a publisher. */
const PAGE_LENGTH = 8 * 1024 * 1024;
/** Pages that are read at a time; others wait for their turn. */
const AT_A_TIME = 4;
const BOUNDS = { waitingPerAddress: 16, waitingPerSlot: 32 };
/** Characters that are kept. */
const KEPT = 16_777_216;

/** Part of a document that is kept. */
interface Read {
  /** `undefined`: it is no page. */
  readonly teaser: Teaser | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

interface Asked extends SiteDocument {
  /** Network address that asks first. */
  readonly address: string;
}

export class Teasers {
  readonly #service: DocumentService;
  readonly #publications: ReadPublications;
  readonly #queue = new FairQueue(BOUNDS, [...Array(AT_A_TIME).keys()]);
  /** Documents by the hash of the head, which names them. One that is asked for meanwhile is read once. */
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
   * Finds what everybody may see of a protected document; `undefined` where it is no page.
   *
   * @param address - that asks
   * @throws ReadingError, PublicationError, ObjectError: what keeps the document from being opened; KeyServerError `busy`
   */
  async of(document: SiteDocument, address: string): Promise<FallbackPage | undefined> {
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
    return teaser && headlineOf(teaser);
  }

  /** Tells whether everybody can load a file that a teaser shows. */
  async #isPublic({ provider, site }: SiteDocument, urlPath: string): Promise<boolean> {
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

/** Facts about its site that a teaser has. */
export function aboutSite({ provider, site }: Pick<SiteDocument, 'provider' | 'site'>) {
  const [content = ''] = site.content;
  return { publisher: provider.descriptor.name, site: site.site, content, reading: site.reading };
}

/** Reads what a document says about itself. */
async function readDocument(service: DocumentService, asked: Asked): Promise<Read> {
  const findKey = (id: string) => findKeyForTeaser(service.state, asked.site.site, id);
  const { headers, bytes } = await readBeginning(service, asked, findKey, PAGE_LENGTH);
  return { teaser: bytes && readPage(bytes).teaser, headers };
}

function mapsOf({ meta, openGraph, robots }: Teaser) {
  return [[...meta], [...openGraph], [...robots]];
}

function lengthOf(value: object): number {
  return JSON.stringify(value).length;
}

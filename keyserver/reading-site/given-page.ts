/** Finds what a page that is given away loads: the addresses that it names itself, as far as they are documents of its own set. */
import type { SitePublication } from '../../core/publication/site-publication.ts';
import { decodePage } from '../../teaser/encoding.ts';
import { baseOf } from '../../teaser/fallback-page.ts';
import { scanPage } from '../../teaser/scan.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { readBeginning } from './beginning.ts';
import { type DocumentService, keyFinder, type SiteDocument } from './documents.ts';

/** Bytes of a page in which addresses are looked for, and addresses that count. */
const MOST_BYTES = 2_097_152;
const MOST_ADDRESSES = 200;
const PAGE = /\.html?$/;

/** Tells whether a document can be given away: a page that needs a key. */
export function isGivable({ path, entry }: Pick<SiteDocument, 'entry' | 'path'>): boolean {
  return entry.set !== undefined && PAGE.test(path);
}

/** A page that is given away. */
export interface GivenPage extends SiteDocument {
  readonly subscriber: Subscriber;
  /** Address at the documents' origin. */
  readonly url: URL;
}

/**
 * Lists the page, and the documents of its set that it loads; none of these is a page.
 *
 * @throws what keeps the page from being shown to `subscriber`
 */
export async function pathsOf(
  service: DocumentService,
  page: GivenPage,
  publication: SitePublication,
): Promise<string[]> {
  const findKey = keyFinder(service.state, page.subscriber, page.site);
  const { bytes } = await readBeginning(service, page, findKey, MOST_BYTES);
  const find = async (address: string) => publication.resolve(address, service.state.now());
  const found = await Promise.all(addressesIn(bytes ?? new Uint8Array(), page.url).map(find));
  const loaded = found.flatMap((each) =>
    each.kind === 'document' && each.entry.set === page.entry.set && !PAGE.test(each.path) ? each.path : [],
  );
  return [...new Set([page.path, ...loaded])];
}

/** @returns path and query of what a page loads from its own origin */
function addressesIn(bytes: Uint8Array, page: URL): string[] {
  const { base = '', references } = scanPage(decodePage(bytes), false);
  const from = baseOf(base, page.href);
  const loaded = references.flatMap(({ url, use }) =>
    use === 'load' && URL.canParse(url, from) ? new URL(url, from) : [],
  );
  const own = loaded.filter(({ origin }) => origin === page.origin).map(({ pathname, search }) => pathname + search);
  return [...new Set(own)].slice(0, MOST_ADDRESSES);
}

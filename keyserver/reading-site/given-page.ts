/**
 * Finds what a page that is given away loads: the addresses that it names itself, as far as they are documents of its own set. At its end, the page says
 * that it is a gift, and what its teaser offers.
 */
import type { SitePublication } from '../../core/publication/site-publication.ts';
import type { Bar } from '../../teaser/bar.ts';
import { decodePage } from '../../teaser/encoding.ts';
import { baseOf } from '../../teaser/fallback-page.ts';
import { scanPage } from '../../teaser/scan.ts';
import { GIFTS } from '../../words/en/gifts.ts';
import { LANGUAGE } from '../../words/en/language.ts';
import { escapeHtml } from '../../words/html.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import { readBeginning } from './beginning.ts';
import { type DocumentService, keyFinder, type SiteDocument } from './documents.ts';
import type { PageFront } from './first-page.ts';

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

/** Has no colours of its own: those of the page are around it. A page whose policy permits no style shows it without. */
const STYLE =
  '.wispr-gift{clear:both;max-width:40rem;margin:2rem auto;padding:1rem 1.25rem;border-top:3px double;font:1rem/1.5 system-ui,sans-serif}.wispr-gift a{margin-inline-end:1rem}';

/** Adds to a page that it was given. @param language - of the page */
export function giftNote(publisher: string, language: string, bar: Bar): PageFront {
  const links = [bar.button ?? [], bar.links].flat();
  const anchors = links.map(({ url, text }) => `<a href="${escapeHtml(url)}">${escapeHtml(text)}</a>`);
  const [title, lead, spoken, gave] = [bar.title, bar.lead, bar.language || language, GIFTS.gave(publisher)].map(
    escapeHtml,
  );
  const offer = `<div lang="${spoken}"><p><strong>${title}</strong><br>${lead}<p>${anchors.join(' ')}</div>`;
  const behind = `<aside class="wispr-gift" lang="${LANGUAGE.lang}"><style>${STYLE}</style><p>${gave}</p>${offer}</aside>`;
  // Signs that are right in whatever coding the page is.
  const plain = behind.replace(/[^\x20-\x7e]/gu, (sign) => `&#${sign.codePointAt(0)};`);
  return { tag: '', behind: plain, permit: (policy) => policy };
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

/** What a page that is given away loads: the addresses that it names itself, as far as they are documents of its own set. */
import { pipeline, Readable } from 'node:stream';
import { Parser } from 'htmlparser2';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { DocumentEntry } from '../../core/publication/document-entry.ts';
import type { SitePublication } from '../../core/publication/site-publication.ts';
import { createDecoder } from '../../node-support/content-coding.ts';
import { serveDocument } from '../../reading/serve-document.ts';
import { decodePage } from '../../teaser/encoding.ts';
import { type DocumentRequest, type DocumentService, keyFinder } from './documents.ts';

/** Bytes of a page in which addresses are looked for, and addresses that count. */
const MOST_BYTES = 2_097_152;
const MOST_ADDRESSES = 200;
/** Milliseconds until the page must be there. */
const PATIENCE = 30_000;
const PAGE = /\.html?$/;

/** Tells whether a document can be given away: a page that needs a key. */
export function isGivable({ path, entry }: Pick<DocumentRequest, 'entry' | 'path'>): boolean {
  return entry.set !== undefined && PAGE.test(path);
}

/** A page that is given away. */
export interface GivenPage extends Pick<DocumentRequest, 'entry' | 'path' | 'provider' | 'site' | 'subscriber'> {
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
  const addresses = addressesIn(decodePage(await readPage(service, page)), page.url);
  const find = async (address: string) => publication.resolve(address, service.state.now());
  const found = await Promise.all(addresses.map(find));
  const isLoaded = (path: string, entry: DocumentEntry) => entry.set === page.entry.set && !PAGE.test(path);
  const loaded = found.flatMap((each) =>
    each.kind === 'document' && isLoaded(each.path, each.entry) ? each.path : [],
  );
  return [...new Set([page.path, ...loaded])];
}

async function readPage({ state, hosts }: DocumentService, page: GivenPage): Promise<Uint8Array> {
  const { provider, site, path, entry, subscriber } = page;
  const ending = new AbortController();
  const timer = setTimeout(() => ending.abort(), PATIENCE);
  try {
    const { chosen, begin } = await serveDocument({
      supply: hosts.supplyOf(site, path, entry, ending.signal),
      wanted: { site: site.site, path, publisherKey: provider.descriptor.publisherKeyBytes, entry },
      context: { findKey: keyFinder(state, subscriber, site), now: state.now() },
      request: { method: 'GET', headers: {} },
      status: 200,
      adapt: (carried) => carried,
    });
    const content = Readable.from((await begin()).pieces, { objectMode: false });
    const undone = chosen.undo ? pipeline(content, createDecoder(chosen.undo), () => undefined) : content;
    const input = new ByteReader(undone);
    const bytes = await input.readUpTo(MOST_BYTES);
    await input.cancel();
    return bytes;
  } finally {
    clearTimeout(timer);
    ending.abort();
  }
}

/** Elements, and those of their attributes that name what a page loads by itself; what is shown in frames is a page of its own. */
const LOADING: Readonly<Record<string, readonly string[]>> = {
  audio: ['src'],
  image: ['href', 'xlink:href'],
  img: ['src', 'srcset'],
  input: ['src'],
  link: ['href', 'imagesrcset'],
  script: ['src'],
  source: ['src', 'srcset'],
  track: ['src'],
  video: ['poster', 'src'],
};
const LOADED = /(?:^|\s)(?:icon|stylesheet|preload|modulepreload)(?:\s|$)/i;

/** @returns path and query of those at the page's own origin */
function addressesIn(html: string, page: URL): string[] {
  const found = new Set<string>();
  let base = page;
  let isBased = false;
  const add = (text: string) => {
    const url = URL.canParse(text, base) ? new URL(text, base) : undefined;
    if (url?.origin === page.origin && found.size < MOST_ADDRESSES) found.add(url.pathname + url.search);
  };
  const parser = new Parser({
    onopentag: (name, attributes) => {
      if (name === 'base' && attributes.href !== undefined && !isBased) {
        isBased = true;
        if (URL.canParse(attributes.href, page)) base = new URL(attributes.href, page);
      }
      if (name === 'link' && !LOADED.test(attributes.rel ?? '')) return;
      for (const attribute of LOADING[name] ?? []) {
        const value = attributes[attribute] ?? '';
        // Widths and densities between the addresses are taken for addresses too, at which there is nothing.
        const each = attribute.endsWith('srcset')
          ? value.split(/\s+/).map((part) => part.replace(/^,+|,+$/g, ''))
          : [value];
        for (const text of each) if (text !== '') add(text.trim());
      }
    },
  });
  parser.end(html);
  return [...found];
}

/** Pages that are read here: for what everybody may see of them, and for what they load. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ByteReader } from '../../core/encoding/byte-reader.ts';
import type { SetKey } from '../../core/object/document-reader.ts';
import { createDecoder } from '../../node-support/content-coding.ts';
import { serveDocument } from '../../reading/serve-document.ts';
import type { DocumentService, SiteDocument } from './documents.ts';

/** Milliseconds until what is wanted must be there. */
const TIMEOUT = 60_000;

/**
 * Reads the beginning of a page, without its coding.
 *
 * @param most - bytes
 * @returns its headers too; no bytes of what is no HTML
 * @throws ReadingError, PublicationError, ObjectError, and those of `findKey`: what keeps the document from being opened
 */
export async function readBeginning(
  { hosts, state }: DocumentService,
  { entry, path, provider, site }: SiteDocument,
  findKey: (id: string) => Promise<SetKey | undefined>,
  most: number,
) {
  const transfer = new AbortController();
  const timer = setTimeout(() => transfer.abort(), TIMEOUT);
  try {
    const { begin, chosen, headers } = await serveDocument({
      supply: hosts.supplyOf(site, path, entry, transfer.signal),
      wanted: { site: site.site, path, publisherKey: provider.descriptor.publisherKeyBytes, entry },
      context: { findKey, now: state.now() },
      request: { method: 'GET', headers: { 'accept-encoding': 'identity' } },
      status: 200,
      adapt: (carried) => carried,
    });
    if (!/^text\/html\s*(?:;|$)/i.test(headers['content-type'] ?? '')) return { headers, bytes: undefined };
    const { pieces } = await begin();
    const decoder = chosen.undo && createDecoder(chosen.undo);
    if (decoder) pipeline(Readable.from(pieces, { objectMode: false }), decoder).catch(() => undefined); // errors reach both
    const content = new ByteReader(decoder ?? pieces);
    const bytes = await content.readUpTo(most);
    await content.cancel();
    return { headers, bytes };
  } finally {
    clearTimeout(timer);
    transfer.abort(); // the rest of it is not wanted
  }
}

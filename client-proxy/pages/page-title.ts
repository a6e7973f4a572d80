/** What a page calls itself, for the list of what was read. */
import { constants, gunzipSync } from 'node:zlib';
import { decodeHTML } from 'entities';
import type { ContentCoding } from '../../core/object/metadata.ts';

const LONGEST = 120;
/** Bytes of what the start of a page unfolds to. */
const UNFOLDED = 1_048_576;

/**
 * The title of a page.
 *
 * @param start - its first bytes, as they are carried
 * @returns `undefined` if it has none there
 */
export function pageTitleOf(start: Uint8Array, coding: ContentCoding | undefined): string | undefined {
  const text = new TextDecoder().decode(coding === undefined ? start : unfolded(start));
  const [, written = ''] = /<title[^>]{0,200}>([^<]{1,1000})<\/title>/i.exec(text) ?? [];
  const title = decodeHTML(written)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  if (title === '') return undefined;
  return title.length > LONGEST ? `${title.slice(0, LONGEST - 1).toWellFormed()}…` : title;
}

/** The end is missing, mostly. Nothing, where it does not unfold to that much. */
function unfolded(start: Uint8Array): Uint8Array {
  try {
    return gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: UNFOLDED });
  } catch {
    return new Uint8Array(0);
  }
}

/** Title that a page gives itself, for the list of what was read. */
import { constants, gunzipSync } from 'node:zlib';
import { Parser } from 'htmlparser2';
import type { ContentCoding } from '../../core/object/metadata.ts';

const LONGEST = 120;
/** Bytes of what the start of a page unfolds to. */
const UNFOLDED = 1_048_576;

/** The title of a page, if it has one there. @param start - its first bytes, as they are carried */
export function pageTitleOf(start: Uint8Array, coding: ContentCoding | undefined): string | undefined {
  const text = new TextDecoder().decode(coding === undefined ? start : unfolded(start));
  const title = titleIn(text)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  if (title === '') return undefined;
  return title.length > LONGEST ? `${title.slice(0, LONGEST - 1).toWellFormed()}…` : title;
}

/** The first title that is the page's, and not a drawing's; empty where it does not end in this text. */
function titleIn(html: string): string {
  let [found, title, isInside, drawings] = ['', '', false, 0];
  const parser = new Parser({
    onopentagname: (name) => {
      if (name === 'svg') drawings++;
      isInside = name === 'title' && drawings === 0;
    },
    ontext: (text) => {
      if (isInside) title += text;
    },
    onclosetag: (name) => {
      if (name === 'svg') drawings--;
      if (!isInside) return;
      found = title;
      parser.pause();
    },
  });
  parser.write(html);
  return found;
}

/** The end is missing, mostly. Nothing, where it does not unfold to that much. */
function unfolded(start: Uint8Array): Uint8Array {
  try {
    return gunzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: UNFOLDED });
  } catch {
    return new Uint8Array(0);
  }
}

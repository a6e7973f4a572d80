/** Scripts that a reader puts into a page in a window: one in front of the page's own, one behind its end. */
import { concat, utf8 } from '../core/encoding/bytes.ts';

/** Pages in codings in which the letters of a tag are what they are. */
const PAGE = /^text\/html(?!.*(?:utf-16|2022))/i;

/** @param type - `Content-Type` of a document */
export function takesScripts(type: string | undefined): boolean {
  return PAGE.test(type ?? '');
}

/** Rules for sources of one kind, the first of which counts. */
const SCRIPTS = ['script-src-elem', 'script-src', 'default-src'];
const FRAMES = ['frame-src', 'child-src', 'default-src'];

/** A signed policy under which the script in front runs, by address or digest, and no other that did not. */
export function permitScript(policies: string, address: string, integrity: string, frames?: string): string {
  const permitted = widen(policies, 'script-src-elem', SCRIPTS, (sources) =>
    // A digest takes the effect from 'unsafe-inline', and 'strict-dynamic' that from addresses.
    /'strict-dynamic'/i.test(sources) ? `'${integrity}'` : address,
  );
  return frames ? widen(permitted, 'frame-src', FRAMES, () => frames) : permitted;
}

/** Permits a script that stands in the page, and frames of some origins. @param frames - sources, with a space */
export function permitInline(policies: string, integrity: string, frames: string): string {
  const scripts = widen(policies, 'script-src-elem', SCRIPTS, (sources) => {
    const isOpen = /'unsafe-inline'/i.test(sources) && !/'(?:nonce|sha\d+)-|'strict-dynamic'/i.test(sources);
    return isOpen ? '' : `'${integrity}'`;
  });
  return widen(scripts, 'frame-src', FRAMES, () => frames);
}

/** Puts a rule in front of each policy that has one of these: of two rules with one name the first counts. */
function widen(policies: string, rule: string, names: readonly string[], own: (sources: string) => string): string {
  const patterns = names.map((name) => RegExp(`(?:^|;)\\s*${name}(?=[\\s;]|$)([^;]*)`, 'i'));
  const permit = (policy: string) => {
    const sources = patterns.map((pattern) => pattern.exec(policy)?.[1]).find((found) => found !== undefined);
    return sources === undefined ? policy : `${rule} ${sources.replace(/'none'/i, '')} ${own(sources)};${policy}`;
  };
  return policies.split(',').map(permit).join();
}

/** Byte order marks of UTF-16. */
const WIDE = /^(?:\xff\xfe|\xfe\xff)/;
/** Text before the first tag. A script in front of a doctype would have browsers show the page as one of last century. */
const BEGINNING = /^(?:\xef\xbb\xbf)?(?:\s|<!--(?:-?>|[\s\S]*?-->)|<[?!][^->][^>]*>)*/;

/** Adds text to a page, piece by piece: in front of its first tag, which is in the first piece, and behind its end. */
export class PageEnds {
  #front: string;
  #behind: string;
  #isBegun = false;

  constructor(front: string, behind: string) {
    this.#front = front;
    this.#behind = behind;
  }

  add(piece: Uint8Array): Uint8Array {
    if (this.#isBegun) return piece;
    this.#isBegun = true;
    const text = new TextDecoder('latin1').decode(piece); // a letter for each byte
    if (WIDE.test(text)) [this.#front, this.#behind] = ['', ''];
    const at = BEGINNING.exec(text)?.[0].length ?? 0;
    return concat(piece.subarray(0, at), utf8(this.#front), piece.subarray(at));
  }

  end(): Uint8Array {
    return utf8(this.#behind);
  }
}

/**
 * Finds copies of the text of encrypted pages in files that other people can read: scripts, search indexes, feeds, source maps.
 *
 * Texts are compared by winnowing (Schleimer, Wilkerson and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003). Each run
 * of RUN letters has a hash, and of WINDOW hashes in a row the smallest is kept. So any RUN + WINDOW - 1 letters that two texts share leave the
 * same fingerprint in both, whatever stands around them. Every text is read once and by itself, and leaves three numbers
 * for 100 letters; samples without a window (the hashes that a number divides) promise no such length.
 */
import { decodeHTML } from 'entities';
import type { PageScanner } from '../../teaser/scan.ts';
import type { Findings } from './report.ts';

type PageText = Pick<PageScanner, 'prose' | 'rest' | 'shown'>;

const RUN = 32;
const WINDOW = 64;
/** Prints of 130 million letters. */
const KEPT = 4_000_000;
/** Fingerprints of a page that make a copy: those of about 400 letters, or half of a shorter page, and never less than a sentence or two. */
const COPY = 12;
const LEAST = 3;
/** Text of more pages than this is navigation, or the like, and so is text of more than half of the pages. */
const COMMON = 10;
/** Text of as many encrypted pages may be a note about their author: it makes a copy only with half of one of them. */
const SHARED = 3;
/** Pages that are compared; a fingerprint and the number of its page are one exact number. */
const PAGES = 2 ** 21;

export interface Prints {
  /** Prints of a page's text, without navigation and what its teaser shows. */
  readonly own?: Uint32Array;
  /** Prints of what else can hold copies. */
  readonly rest?: Uint32Array;
}

interface Document {
  readonly path: string;
  readonly isPage: boolean;
  readonly own: Uint32Array;
  readonly rest: Uint32Array;
}

export class CopyCheck {
  readonly #documents: Document[] = [];
  #kept = 0;
  readonly #most: number;
  #level = 0;

  /** @param most - fingerprints in memory; of more, every other is dropped, as often as needed, and copies have to be longer to be found */
  constructor(most = KEPT) {
    this.#most = most;
  }

  add(path: string, prints: Prints | undefined): void {
    if (prints === undefined) return;
    const { own = NONE, rest = NONE } = prints;
    this.#keep({ path, isPage: prints.own !== undefined, own, rest });
    if (this.#kept <= this.#most) return;
    this.#level++;
    this.#kept = 0;
    for (const document of this.#documents.splice(0)) this.#keep(document);
  }

  #keep({ own, rest, ...document }: Document): void {
    const isKept = (print: number) => print % 2 ** this.#level === 0;
    const kept = { ...document, own: own.filter(isKept), rest: rest.filter(isKept) };
    this.#kept += kept.own.length + kept.rest.length;
    this.#documents.push(kept);
  }

  /** @param setOf - the set of a document; `undefined` if it is public */
  find(setOf: (path: string) => string | undefined, findings: Findings): void {
    const pages = this.#documents.filter(({ isPage }) => isPage).slice(0, PAGES);
    const sets = pages.map(({ path }) => setOf(path));
    const encrypted = new Set(sets.filter((set) => set !== undefined));
    const owners = new Owners(
      pages.map(({ own }) => own),
      (page) => sets[page] !== undefined,
    );
    let next = 0;
    for (const document of this.#documents) {
      const itself = document === pages[next] ? next++ : undefined;
      const set = setOf(document.path);
      if (encrypted.size === 0 || (encrypted.size === 1 && set !== undefined && encrypted.has(set))) continue; // its readers may read all pages
      const message = set === undefined ? 'public' : `in the set ${set}`;
      const shared = owners.sharedWith([...document.own, ...document.rest], itself);
      for (const [page, { all, alone }] of [...shared].sort(([, a], [, b]) => b.all - a.all)) {
        const half = (pages[page]?.own.length ?? 0) / 2;
        const enough = Math.max(LEAST, Math.min(COPY / 2 ** this.#level, half));
        if (sets[page] === undefined || sets[page] === set || all < enough) continue;
        // Passages of several pages may be a note about their author; a text that long is none.
        const kind = alone >= enough || all >= Math.min(half, 2 * enough) ? 'copy' : 'copy-shared';
        findings.add(kind, document.path, { path: pages[page]?.path ?? '' }, message);
      }
    }
  }
}

const NONE = new Uint32Array();

/** Number of a page's fingerprints that a document has, and how many of them no {@link SHARED} encrypted pages have. */
interface Shared {
  readonly all: number;
  readonly alone: number;
}

class Owners {
  /** A fingerprint times {@link PAGES} and the number of a page that has it, in order. */
  readonly #pairs: Float64Array;
  readonly #common: number;
  readonly #isEncrypted: (page: number) => boolean;

  /** @param pages - the fingerprints of each */
  constructor(pages: readonly Uint32Array[], isEncrypted: (page: number) => boolean) {
    this.#pairs = new Float64Array(pages.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const [page, prints] of pages.entries()) for (const print of prints) this.#pairs[at++] = print * PAGES + page;
    this.#pairs.sort();
    this.#isEncrypted = isEncrypted;
    this.#common = Math.min(COMMON, Math.max(2, pages.length / 2));
  }

  /** @param itself - the number of the page whose fingerprints they are: it is left out where nobody else has one */
  sharedWith(prints: readonly number[], itself: number | undefined): Map<number, Shared> {
    const shared = new Map<number, Shared>();
    const seen = new Set<number>();
    for (const print of prints) {
      const first = this.#firstOf(print);
      const page = this.#pageAt(first, print);
      if (page < 0 || (page === itself && this.#pageAt(first + 1, print) < 0) || seen.has(print)) continue;
      seen.add(print);
      const pages = new Map<number, number>();
      for (let at = first; this.#pageAt(at, print) >= 0 && pages.size <= this.#common; at++) {
        const page = this.#pageAt(at, print);
        pages.set(page, (pages.get(page) ?? 0) + 1);
      }
      if (pages.size > this.#common) continue;
      const isShared = [...pages.keys()].filter(this.#isEncrypted).length >= SHARED;
      for (const [page, count] of pages) {
        const { all, alone } = shared.get(page) ?? { all: 0, alone: 0 };
        shared.set(page, { all: all + count, alone: alone + (isShared ? 0 : count) });
      }
    }
    return shared;
  }

  /** Returns the page of a pair; less than 0 where the pair is of another fingerprint. */
  #pageAt(at: number, print: number): number {
    const page = (this.#pairs[at] ?? Infinity) - print * PAGES;
    return page < PAGES ? page : -1;
  }

  #firstOf(print: number): number {
    let [low, high] = [0, this.#pairs.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pairs[middle] ?? 0) < print * PAGES) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Written in JSON and scripts, also inside of other strings. */
const ESCAPE = /\\{1,8}(?:u([\da-f]{4})|u\{([\da-f]{1,5})\}|x([\da-f]{2})|[bfnrtv])/gi;
const ENTITY = /&#?\w{1,31};/g;
/** A tag as pages have it: scripts compare by the same signs. */
const TAG = /<(?:\/?[a-z][a-z\d:-]*(?:\s[^<>]{0,2000})?\/?|!--[^>]{0,200}--)>/gi;
const OUTSIDE_ASCII = /[\u0080-\uffff]/;
/** Letters and digits in lower case, 0 for others. */
const ASCII = Uint8Array.from(
  { length: 128 },
  (_, code) => /[a-z\d]/.exec(String.fromCharCode(code).toLowerCase())?.[0].charCodeAt(0) ?? 0,
);

/** Tells whether a character is a sign of Latin-1, an accent that could not be composed, or general or CJK punctuation. */
function isSign(code: number): boolean {
  if (code < 0x2000) return code < 0xc0 || (code >= 0x300 && code < 0x370);
  return code < 0x2070 || (code >= 0x3000 && code < 0x3040);
}

/** Returns a text without markup and escapes, in lower case where letters are not of ASCII. */
function plainText(text: string): string {
  const plain = text.includes('\\')
    ? text.replace(ESCAPE, (_, a, b, c) => String.fromCodePoint(Number.parseInt(a ?? b ?? c ?? '20', 16)))
    : text;
  const decoded = plain.includes('&') ? decodeEntities(decodeEntities(plain)) : plain; // feeds have pages as text
  const bare = decoded.includes('<') ? decoded.replace(TAG, '') : decoded;
  return OUTSIDE_ASCII.test(bare) ? bare.normalize('NFC').toLowerCase() : bare;
}

function decodeEntities(text: string): string {
  return text.replace(ENTITY, (entity) => decodeHTML(entity));
}

const BASE = 0x9e3779b1;
/** Factor of a letter that leaves a run. */
const LEAVING = Array.from({ length: RUN }).reduce<number>((power) => Math.imul(power, BASE), 1);

/** Makes fingerprints, one text after the other in the same memory. */
export class PrintMaker {
  #letters = new Uint16Array(0);
  #hashes = new Int32Array(0);

  /**
   * Makes the fingerprints of a document; `undefined` if it is too short for one.
   *
   * @param text - of a page, as {@link PageScanner} has it; of another document, all is `rest`
   */
  printsOf({ prose = '', shown = '', rest }: Partial<PageText> & Pick<PageText, 'rest'>): Prints | undefined {
    const known = new Set(this.#hashesOf(shown));
    const own = winnow(this.#hashesOf(prose), known);
    const others = winnow(this.#hashesOf(rest));
    if (own.length + others.length === 0) return undefined;
    return { ...(own.length > 0 && { own }), ...(others.length > 0 && { rest: others }) };
  }

  /** Hashes each run of letters: the same however a generator writes, spaces and punctuates a text. Valid until the next call. */
  #hashesOf(text: string): Int32Array {
    const plain = plainText(text);
    if (plain.length > this.#letters.length) {
      this.#letters = new Uint16Array(plain.length);
      this.#hashes = new Int32Array(plain.length);
    }
    const [letters, hashes] = [this.#letters, this.#hashes];
    let length = 0;
    let hash = 0;
    for (let index = 0; index < plain.length; index++) {
      const code = plain.charCodeAt(index);
      const letter = code < 128 ? (ASCII[code] as number) : isSign(code) ? 0 : code;
      if (letter === 0) continue;
      hash = (Math.imul(hash, BASE) + letter) | 0;
      if (length >= RUN) hash = (hash - Math.imul(letters[length - RUN] as number, LEAVING)) | 0;
      letters[length] = letter;
      hashes[length] = hash;
      length++;
    }
    return hashes.subarray(RUN - 1, Math.max(RUN - 1, length));
  }
}

/** @param shown - hashes of what the page shows to everybody, which is no copy */
function winnow(hashes: Int32Array, shown?: ReadonlySet<number>): Uint32Array {
  const prints: number[] = [];
  const whole = Math.min(WINDOW, hashes.length) - 1;
  let least = -WINDOW;
  let smallest = 0;
  let kept = -1;
  for (let index = 0; index < hashes.length; index++) {
    const hash = hashes[index] as number;
    if (least <= index - WINDOW) {
      least = index;
      smallest = hash;
      for (let back = index - 1; back > index - WINDOW && back >= 0; back--) {
        const other = hashes[back] as number;
        if (other >= smallest) continue;
        smallest = other;
        least = back;
      }
    } else if (hash <= smallest) {
      least = index;
      smallest = hash;
    }
    if (least === kept || index < whole) continue;
    kept = least;
    if (shown?.has(smallest) !== true) prints.push(mixed(smallest));
  }
  return new Uint32Array(prints);
}

/** Spreads a hash over all its bits (MurmurHash3, its last step). */
function mixed(hash: number): number {
  let bits = hash ^ (hash >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}

/** Values of sheet and library: the answer of the worker to `/-/about.json`. Times in seconds since 1970, lengths in bytes. */
import * as words from '../words/en/browser.ts';

export interface KeptIssue {
  title: string;
  /** URL paths of its pages, and their titles in HTML. */
  pages: [path: string, title: string][];
  /** Media that are too long: their kind, and their length. */
  left: [kind: string, length: number][];
  bytes: number;
  /** Reason why it is not whole. */
  trouble?: 'full' | 'network' | undefined;
}

/** An issue as pages show it. */
export interface ShownIssue extends KeptIssue {
  readonly id: string;
  /** Number of documents that belong to it, as far as they are known, and of those that open without a network. */
  readonly documents: number;
  readonly kept: number;
  /** Tells whether it is being kept at this moment. */
  readonly running: boolean;
}

export interface About {
  /** Name that the publisher uses; the site. */
  readonly name: string;
  readonly site: string;
  /** The publisher's colours. */
  readonly light: string;
  readonly dark: string;
  /** Address of its logo on this origin. */
  readonly logo?: string | undefined;
  readonly confirmed?: number | undefined;
  readonly isFresh: boolean;
  /** Time until which what is kept opens without a network, where that ends. */
  readonly until?: number | undefined;
  /** Tells whether readers may give pages away. */
  readonly gives: boolean;
  /** Origin at which the reader has the account. */
  readonly vault?: string | undefined;
  readonly used: number;
  readonly left: number;
  /** Issue of the page that was asked about: its id, and its title. */
  readonly set?: string | undefined;
  readonly title?: string | undefined;
  /** URL paths of pages that were only read, the latest first. */
  readonly opened: readonly string[];
  readonly issues: readonly ShownIssue[];
}

/** @param path - of the page that is asked about; left out: of none */
export async function fetchAbout(path?: string): Promise<About> {
  const answer = await fetch(`/-/about.json${path === undefined ? '' : `?path=${encodeURIComponent(path)}`}`);
  if (!answer.ok) throw new Error(String(answer.status));
  return (await answer.json()) as About;
}

/** Keeps the issue of a page, or removes one; without an id, everything. */
export async function changeKept(change: Readonly<Record<string, string>>): Promise<void> {
  await fetch(`/-/kept?${new URLSearchParams(change)}`, { method: 'POST' });
}

/** Describes how far an issue is kept. */
export function stateOf({ kept, documents, left, trouble, running }: ShownIssue): string {
  const count = words.keptOf(kept, documents);
  if (running) return documents === 0 ? words.looking : `${count} …`;
  const long = left.map(([kind, length]) => words.notKept(kind, length));
  const why = trouble === 'full' ? [words.noRoom] : trouble === 'network' ? [words.brokeOff] : [];
  const notes = [...long, ...why];
  if (kept === documents && notes.length === 0) return words.wholeIssue;
  return [...(documents > 0 ? [count] : []), ...notes].join(', ');
}

/** Extent of an issue in words. */
export const extentOf = ({ pages, bytes }: ShownIssue) => words.extent(pages.length, bytes);

type Child = Node | string | undefined | false;

/** Makes an element. Text stays text, whatever is in it. */
export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Name] {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== undefined && child !== false));
  return made;
}

/** Styles: what is dark in one scheme is light in the other. */
export const COLOURS = ({ light, dark }: Pick<About, 'dark' | 'light'>) =>
  `:host,:root{--accent:${light};--on:#fff;--paper:#fdfcf9;--ink:#1c1b19;--quiet:#5c5850}@media(prefers-color-scheme:dark){:host,:root{--accent:${dark};--on:#12171c;--paper:#1a2128;--ink:#e6e4df;--quiet:#b0aca4}}`;

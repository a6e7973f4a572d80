/** The reading site's own pages: eta templates, which escape whatever is put into them. */
import { Eta } from 'eta';
import type { OfferedPlan } from '../../core/publication/offers.ts';
import type { SetTitle } from '../../core/publication/set-titles.ts';
import type { Accent } from '../../core/site/accent.ts';
import { openInReaderUrl, READER_INVITATION_URL, READER_PORT } from '../../core/site/open-in-reader.ts';
import { readProgramFile } from '../../node-support/program-files.ts';
import { fileOf, type WebReaderFile } from '../../node-support/web-reader-files.ts';
import { initialIcon } from '../../reading/icon.ts';
import { buttonOf, refusalPage as pageInPlace, type RefusalPage } from '../../reading/refusal-page.ts';
import { ACCOUNT } from '../../words/en/account.ts';
import { GIFTS } from '../../words/en/gifts.ts';
import { JOIN } from '../../words/en/join.ts';
import { LANGUAGE } from '../../words/en/language.ts';
import { READING_SITE } from '../../words/en/reading-site.ts';
import { BUTTONS } from '../../words/en/refusals.ts';
import { SIGN_IN } from '../../words/en/sign-in.ts';
import { BOUGHT, PLAN, SUBSCRIBE } from '../../words/en/till.ts';
import { escapeHtml } from '../../words/html.ts';
import type { KeyServerErrorCode } from '../errors.ts';
import type { CodedRefusal } from './refusals.ts';

const eta = new Eta({ autoEscape: true });
/** Templates, with the words that each takes as `t`. */
export const WORDS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  account: { ...ACCOUNT, plan: PLAN },
  bought: BOUGHT,
  delete: ACCOUNT,
  gift: GIFTS,
  give: GIFTS,
  'hand-over': READING_SITE,
  join: JOIN,
  keys: READING_SITE,
  layout: READING_SITE,
  'mail-code': SIGN_IN,
  'sign-in': SIGN_IN,
  'sign-up': SIGN_IN,
  start: READING_SITE,
  subscribe: SUBSCRIBE,
  unsubscribe: READING_SITE,
};
for (const name of Object.keys(WORDS))
  eta.loadTemplate(`@${name}`, readProgramFile(`pages/${name}.eta`, import.meta.url).toString());

/** Style sheet of pages in place of a document. */
export const REFUSAL_STYLE_SHEET = '/-/refusal.css';

/** Scripts that stand in the pages, by the name under which a template asks for one. */
const SCRIPTS = {
  join: assetOf('join.js'),
  'sign-in': assetOf('sign-in.js'),
  'hand-over': assetOf('hand-over.js'),
  reader: assetOf('reader.js'),
  gift: assetOf('gift.js'),
  give: assetOf('give.js'),
};
/** Digests of these, as a policy names them. */
export const SCRIPT_DIGESTS = Object.values(SCRIPTS).map((text) => fileOf(Buffer.from(text)).integrity);

const STYLE = assetOf('style.css').replace(/\s+/g, ' '); // the text stands in each page
let coloured: { readonly text: string; readonly file: WebReaderFile } | undefined;

function assetOf(file: string): string {
  return readProgramFile(`assets/${file}`, import.meta.url).toString();
}

/** The style sheet of the pages, with the publisher's colours. */
export function styleSheet({ light, dark }: Accent): WebReaderFile {
  const text = `${STYLE}:root{--accent:${light}}\n@media(prefers-color-scheme:dark){:root{--accent:${dark}}}\n`;
  if (coloured?.text !== text) coloured = { text, file: fileOf(Buffer.from(text)) };
  return coloured.file;
}

/** Makes a page. @param page - data of its template */
export function render(template: string, masthead: Masthead, page: object): string {
  const { accent, signed, site } = masthead;
  return eta.render(`@${template}`, {
    page,
    masthead,
    t: WORDS[template],
    linked,
    language: LANGUAGE,
    icon: initialIcon(masthead.publisher, accent),
    style: styleSheet(accent).content,
    scripts: SCRIPTS,
    invitation: READER_INVITATION_URL,
    connect: `http://localhost:${READER_PORT}/connect`,
    // Sentence with the address at which a Reader on the same computer offers a document; empty where there is none.
    openInReader: (target: string) =>
      signed
        ? linked(READING_SITE.openInReader, {
            href: openInReaderUrl(site, target.replace(/\?.*/s, '')),
            rel: 'noreferrer',
          })
        : '',
  });
}

/** Gives the links of a sentence their attributes, in the order in which they stand there. */
function linked(sentence: string, ...links: readonly Readonly<Record<string, string>>[]): string {
  const left = links.map((link) => Object.entries(link).map(([name, value]) => ` ${name}="${escapeHtml(value)}"`));
  return sentence.replace(/<a>/g, () => `<a${left.shift()?.join('')}>`);
}

/** Head of every page. */
export interface Masthead {
  readonly publisher: string;
  readonly site: string;
  /** Tells whether a publisher has signed for the site: else a Reader has nothing to connect with. */
  readonly signed: boolean;
  readonly accent: Accent;
  /** Path of the publisher's logo, on the origin of the documents; the account's origin has no published byte. */
  readonly logo?: string | undefined;
  readonly subscribe?: string | undefined;
  readonly titles: readonly SetTitle[];
  /** Offers to strangers. */
  readonly plans: readonly OfferedPlan[];
  /** Content host that is asked first. */
  readonly content?: string | undefined;
}

/** Codes of {@link KeyServerError}. */
export type RefusedSignIn = Extract<KeyServerErrorCode, `openid-${string}` | 'passkey-refused'>;

/** Reasons for which signing in another way than by password has failed. */
export const REFUSED_SIGN_INS: Readonly<Record<RefusedSignIn, string>> = SIGN_IN.refused;

export interface RefusalLinks {
  readonly account: string;
  readonly signedIn: boolean;
  /** Path and query of what was asked for, if it can be asked for again. */
  readonly again: string | undefined;
}

export function refusalPage(masthead: Masthead, refusal: CodedRefusal, links: RefusalLinks): string {
  const { way, code, detail } = refusal;
  const { account: origin, signedIn, again } = links;
  const own = signedIn
    ? { text: BUTTONS.account, url: `${origin}/-/account` }
    : { text: BUTTONS.signIn, url: `${origin}/-/sign-in${again ? `?${new URLSearchParams({ to: again })}` : ''}` };
  const front = again === '/' ? undefined : '/';
  const button = buttonOf(way, { again, front, subscribe: masthead.subscribe });
  const [first, ...others] = button ? [button, ...(signedIn ? [own] : [])] : way === 'none' ? [] : [own];
  const facts = detail === undefined ? [code] : [code, detail];
  return inPlace(masthead, { ...refusal, button: first, links: others, facts });
}

/** A page in place of a document. */
export function inPlace({ publisher: name, ...look }: Masthead, page: RefusalPage): string {
  const icon = `<link rel="icon" href="${initialIcon(name, look.accent)}">`;
  return pageInPlace(page, { ...look, name }, `<link rel="stylesheet" href="${REFUSAL_STYLE_SHEET}">${icon}`);
}

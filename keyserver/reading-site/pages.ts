/** The reading site's own pages: eta templates, which escape whatever is put into them. */
import { Eta } from 'eta';
import type { OfferedPlan } from '../../core/publication/offers.ts';
import type { SetTitle } from '../../core/publication/set-titles.ts';
import type { Accent } from '../../core/site/accent.ts';
import { openInReaderUrl, READER_INVITATION_URL, READER_PORT } from '../../core/site/open-in-reader.ts';
import { readProgramFile } from '../../node-support/program-files.ts';
import { fileOf, type WebReaderFile } from '../../node-support/web-reader-files.ts';
import { buttonOf, refusalPage as pageInPlace, type RefusalPage } from '../../reading/refusal-page.ts';
import type { KeyServerErrorCode } from '../errors.ts';
import type { CodedRefusal } from './refusals.ts';

const eta = new Eta({ autoEscape: true });
const TEMPLATES =
  'account bought delete hand-over join keys layout mail-code sign-in sign-up start subscribe unsubscribe';
for (const name of TEMPLATES.split(' '))
  eta.loadTemplate(`@${name}`, readProgramFile(`pages/${name}.eta`, import.meta.url).toString());

/** Style sheet of pages in place of a document. */
export const REFUSAL_STYLE_SHEET = '/-/refusal.css';

/** Scripts that stand in the pages, by the name under which a template asks for one. */
const SCRIPTS = {
  join: assetOf('join.js'),
  'sign-in': assetOf('sign-in.js'),
  'hand-over': assetOf('hand-over.js'),
  reader: assetOf('reader.js'),
};
/** Digests of these, as a policy names them. */
export const SCRIPT_DIGESTS = Object.values(SCRIPTS).map((text) => fileOf(Buffer.from(text)).integrity);

const STYLE = assetOf('style.css');
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
    style: styleSheet(accent).content,
    scripts: SCRIPTS,
    invitation: READER_INVITATION_URL,
    connect: `http://localhost:${READER_PORT}/connect`,
    // Address at which a Reader on the same computer offers a document.
    openInReader: (target: string) => (signed ? openInReaderUrl(site, target.replace(/\?.*/s, '')) : undefined),
  });
}

/** What every page shows at its head. */
export interface Masthead {
  readonly publisher: string;
  readonly site: string;
  /** Whether a publisher has signed for the site: else a Reader has nothing to connect with. */
  readonly signed: boolean;
  readonly accent: Accent;
  /** Path of the publisher's logo, on the origin of the documents; the account's origin has no published byte. */
  readonly logo?: string | undefined;
  readonly subscribe?: string | undefined;
  readonly titles: readonly SetTitle[];
  /** What strangers are offered. */
  readonly plans: readonly OfferedPlan[];
  /** Content host that is asked first. */
  readonly content?: string | undefined;
}

/** Codes of {@link KeyServerError}. */
export type RefusedSignIn = Extract<KeyServerErrorCode, `openid-${string}` | 'passkey-refused'>;

/** Why signing in another way than by password has failed. */
export const REFUSED_SIGN_INS: Readonly<Record<RefusedSignIn, string>> = {
  'passkey-refused':
    'That passkey doesn’t work here, or it took more than five minutes. Try again, or sign in another way.',
  'openid-cancelled': 'You have not signed in there. Try again, or sign in another way.',
  'openid-unreachable':
    'Signing in there doesn’t work at the moment. Try again in a few minutes, or sign in another way.',
  'openid-unusable':
    'Signing in there doesn’t work: the publisher has to set it right. Sign in another way, and tell the publisher.',
  'openid-clock-off':
    'Signing in there doesn’t work: a clock is wrong, and not yours. Sign in another way, and tell the publisher.',
  'openid-refused': 'Signing in there was not completed: it took too long, or was begun in another browser. Try again.',
};

export interface RefusalLinks {
  readonly account: string;
  readonly signedIn: boolean;
  /** Path and query of what was asked for, if it can be asked for again. */
  readonly again: string | undefined;
}

export function refusalPage(masthead: Masthead, refusal: CodedRefusal, links: RefusalLinks): string {
  const { way, code, detail } = refusal;
  const { account, signedIn, again } = links;
  const own = signedIn
    ? { text: 'Your account', url: `${account}/-/account` }
    : { text: 'Sign in', url: `${account}/-/sign-in` };
  const front = again === '/' ? undefined : '/';
  const button = buttonOf(way, { again, front, subscribe: masthead.subscribe });
  const [first, ...others] = button ? [button, ...(signedIn ? [own] : [])] : way === 'none' ? [] : [own];
  const facts = detail === undefined ? [code] : [code, detail];
  return inPlace(masthead, { ...refusal, button: first, links: others, facts });
}

/** A page in place of a document. */
export function inPlace({ publisher: name, ...look }: Masthead, page: RefusalPage): string {
  return pageInPlace(page, { ...look, name }, `<link rel="stylesheet" href="${REFUSAL_STYLE_SHEET}">`);
}

/** The reading site's own pages: eta templates, which escape whatever is put into them. */
import { Eta } from 'eta';
import { type SetTitle, titleOfSet } from '../../core/publication/set-titles.ts';
import type { Accent } from '../../core/site/accent.ts';
import { openInReaderUrl, READER_INVITATION_URL, READER_PORT } from '../../core/site/open-in-reader.ts';
import { readProgramFile } from '../../node-support/program-files.ts';
import { fileOf, type ScriptAddress, type WebReaderFile } from '../../node-support/web-reader-files.ts';
import { buttonOf, refusalPage as pageInPlace, type RefusalPage } from '../../reading/refusal-page.ts';
import type { KeyServerErrorCode } from '../errors.ts';
import type { ListedDevice } from '../readers/devices.ts';
import type { ListedPasskey } from '../sign-in/passkeys.ts';
import type { Grant } from '../subscriptions/subscribers.ts';
import type { HeldPlan } from '../subscriptions/subscriptions.ts';
import type { ProgramVersion } from './program.ts';
import type { CodedRefusal } from './refusals.ts';
import { stateOf, useOf, wordsOf } from './words.ts';

const eta = new Eta({ autoEscape: true });
for (const name of [
  'layout',
  'sign-in',
  'join',
  'account',
  'keys',
  'start',
  'mail-code',
  'sign-up',
  'unsubscribe',
  'delete',
  'hand-over',
]) {
  eta.loadTemplate(`@${name}`, readProgramFile(`pages/${name}.eta`, import.meta.url).toString());
}

/** Style sheet of pages in place of a document. */
export const REFUSAL_STYLE_SHEET = '/-/refusal.css';

/** Scripts that stand in the pages, by the name under which a template asks for one. */
const SCRIPTS: Readonly<Record<string, string>> = Object.fromEntries(
  ['join', 'sign-in', 'hand-over', 'reader'].map((name) => [
    name,
    readProgramFile(`assets/${name}.js`, import.meta.url).toString(),
  ]),
);
/** Digests of these, as a policy names them. */
export const SCRIPT_DIGESTS: readonly string[] = Object.values(SCRIPTS).map(
  (text) => fileOf(Buffer.from(text)).integrity,
);

const STYLE = readProgramFile('assets/style.css', import.meta.url).toString();
let coloured: { readonly text: string; readonly file: WebReaderFile } | undefined;

/** The style sheet of the pages, with the publisher's colours. */
export function styleSheet({ light, dark }: Accent): WebReaderFile {
  const text = `${STYLE}:root{--accent:${light}}\n@media(prefers-color-scheme:dark){:root{--accent:${dark}}}\n`;
  if (coloured?.text !== text) coloured = { text, file: fileOf(Buffer.from(text)) };
  return coloured.file;
}

function render(template: string, masthead: Masthead, data: object): string {
  return eta.render(`@${template}`, {
    ...data,
    masthead,
    style: styleSheet(masthead.accent).content,
    scripts: SCRIPTS,
  });
}

/** What every page shows at its head. */
export interface Masthead {
  /** What the publisher calls itself. */
  readonly publisher: string;
  readonly site: string;
  /** Whether a publisher has signed for the site: else a Reader has nothing to connect with. */
  readonly signed: boolean;
  readonly accent: Accent;
  /** Path of the publisher's logo, on the origin of the documents; the account's origin has no published byte. */
  readonly logo?: string | undefined;
  /** Where people subscribe. */
  readonly subscribe?: string | undefined;
  readonly titles: readonly SetTitle[];
  /** Content host that is asked first. */
  readonly content?: string | undefined;
}

/** Codes of {@link KeyServerError}. */
export type RefusedSignIn = Extract<KeyServerErrorCode, `openid-${string}` | 'passkey-refused'>;

export interface SignInPage {
  /** Path and query to go to afterwards. */
  readonly to: string;
  /** Path and query of the document that it leads to in the end. */
  readonly wanted: string;
  readonly name: string;
  /** Whether name and password were tried, and did not fit. */
  readonly failed: boolean;
  /** True where the reader is signed in, and proves it once more. */
  readonly again?: boolean;
  /** Why signing in another way has failed. */
  readonly refused?: RefusedSignIn;
  /** What the way to sign in elsewhere is called, if there is one. */
  readonly openid: string | undefined;
  /** Whether the reader has just signed out here. */
  readonly left?: boolean;
  /** Whether codes are mailed, and whether people sign up by themselves. */
  readonly byMail: boolean;
  readonly signsUp: boolean;
}

export interface JoinPage {
  readonly code: string;
  /** Path and query to go to afterwards; empty for the account. */
  readonly to: string;
  readonly problem: 'code' | 'password' | 'seats' | undefined;
  /** Who is signed in here already. */
  readonly present: string | undefined;
  /** Whether the link of a mail leads here. */
  readonly mailed: boolean;
  readonly minimumLength: number;
  /** Origin of what is opened next. */
  readonly documents: string;
}

export interface AccountPage {
  readonly name: string;
  readonly grants: readonly Grant[];
  readonly subscriptions: readonly HeldPlan[];
  readonly revoked: boolean;
  readonly now: number;
  readonly devices: readonly ListedDevice[];
  /** The device that this browser is. */
  readonly thisDevice: number | undefined;
  readonly passkeys: readonly ListedPasskey[];
  readonly maximumPasskeys: number;
  readonly hasPassword: boolean;
  readonly minimumLength: number;
  /** What opens documents in browsers. */
  readonly program: ProgramVersion | undefined;
  /** Whether a password was sent that is too short. */
  readonly problem: boolean;
  /** Whether codes are mailed, to this subscriber too, and whether the session was just begun by one. */
  readonly byMail: boolean;
  readonly isMailed: boolean;
  readonly isProven: boolean;
}

/** The page that hands keys to the documents' origin: docs/spec/web-reader.md. Its program reads all but that. */
export interface VaultPage {
  readonly script: ScriptAddress;
  /** What only some browsers need. */
  readonly mlKem: ScriptAddress;
  /** Origin. */
  readonly documents: string;
  /** Root id. */
  readonly publisher: string;
  /** True where nobody is signed in. */
  readonly isVisitor: boolean;
  readonly sets: readonly string[];
  /** As JSON: by set id, what it is called. */
  readonly titles: string;
  /** Versions of snapshot and timestamp, with a comma; or empty. */
  readonly pair: string;
  /** Seconds since 1970. */
  readonly time: number;
}

const REFUSED_SIGN_INS: Readonly<Record<RefusedSignIn, string>> = {
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

export function signInPage(masthead: Masthead, page: SignInPage): string {
  const refused = page.refused && REFUSED_SIGN_INS[page.refused];
  return render('sign-in', masthead, { page, refused, reader: readerUrl(masthead, page.wanted) });
}

export function joinPage(masthead: Masthead, page: JoinPage): string {
  const reader = `http://localhost:${READER_PORT}/connect`;
  return render('join', masthead, { page, reader, invitation: READER_INVITATION_URL });
}

export function vaultPage(masthead: Masthead, page: VaultPage): string {
  return render('keys', masthead, { page });
}

export function accountPage(masthead: Masthead, page: AccountPage): string {
  const subscriptions = page.subscriptions.map((held) => ({ title: held.title, state: stateOf(held, page.now) }));
  const named = page.grants.map((grant) => ({
    title: grant.pattern === '*' ? 'Everything' : titleOfSet(masthead.titles, grant.pattern),
    pattern: grant.pattern,
    state: stateOf({ ...grant, zone: null }, page.now),
  }));
  const grants = [...subscriptions, ...named];
  const devices = page.devices.map((device) => ({ ...device, ...wordsOf(device, page.thisDevice) }));
  const passkeys = page.passkeys.map((passkey) => ({ ...passkey, used: useOf(passkey) }));
  return render('account', masthead, {
    page: { ...page, grants, devices, passkeys },
    reader: readerUrl(masthead, '/'),
    invitation: READER_INVITATION_URL,
  });
}

export interface MailCodePage {
  readonly problem: 'over' | 'wrong' | undefined;
  readonly name: string;
}

/** Takes the code of a mail. */
export function mailCodePage(masthead: Masthead, page: MailCodePage): string {
  return render('mail-code', masthead, { page });
}

export interface SignUpPage {
  /** Path and query to go to afterwards. */
  readonly to: string;
  readonly days: number;
  /** What was typed, if it is no mail address. */
  readonly refused: string | undefined;
}

export function signUpPage(masthead: Masthead, page: SignUpPage): string {
  return render('sign-up', masthead, { page });
}

/** Asks before it ends mail to many, and says that it has. @param page - `token`: of the link, while it is asked */
export function unsubscribePage(masthead: Masthead, page: { readonly token?: string }): string {
  return render('unsubscribe', masthead, { page });
}

/** Asks before all data of a subscriber go. */
export function deletePage(masthead: Masthead, page: { readonly name: string }): string {
  return render('delete', masthead, { page });
}

export interface HandOverPage {
  readonly title: string;
  readonly text: string;
  /** Address at the documents' origin. */
  readonly action: string;
  readonly button: string;
  readonly code?: string;
}

/** Goes on at the documents' origin, by a form: its script presses the button. */
export function handOverPage(masthead: Masthead, page: HandOverPage): string {
  return render('hand-over', masthead, { page });
}

export interface StartPage {
  /** The origin at which the reader signs in. */
  readonly reading: string;
  /** Text of the script. */
  readonly script: string;
  /** What the script tries to fetch from the content hosts, before it installs anything. */
  readonly asked: readonly string[];
  /** Where documents are read as the server decrypts them. */
  readonly plain: string;
  /** Address that the reader is on the way to, if it is not this one. */
  readonly leadsTo?: string;
  /** True in a frame behind a page that is on show. */
  readonly isBehind?: boolean;
  /** It removes what the origin keeps in the browser, and leads to the sign-in. */
  readonly isLeaving?: boolean;
}

/** The page that starts the in-browser reader. */
export function startPage(masthead: Masthead, page: StartPage): string {
  return render('start', masthead, { page });
}

export interface RefusalLinks {
  /** The origin at which people sign in. */
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

/** Where a Reader on the same computer offers the document. @param target - its path and query */
function readerUrl({ site, signed }: Masthead, target: string): string | undefined {
  const [path = '/'] = target.split('?', 1);
  return signed ? openInReaderUrl(site, path) : undefined;
}

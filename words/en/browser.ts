/** The in-browser reader: the sheet on pages, the library, keys, and the page that opens invitations. A program has no more of it than it names. */
import { ago, dayOfYear, plural, size } from './language.ts';

const pages = (count: number) => plural(count, { one: '# page', other: '# pages' });

/** State of an issue that is kept. */
export const wholeIssue = 'whole issue';
export const looking = 'looking …';
export const keptOf = (kept: number, documents: number) => `${kept} of ${documents}`;
export const noRoom = 'there is no room on this device';
export const brokeOff = 'the network broke off';
const kinds: Readonly<Record<string, string>> = { video: 'film', audio: 'sound', image: 'picture' };
export const notKept = (kind: string, bytes: number) => `${kinds[kind] ?? 'file'} not kept (${size(bytes)})`;
export const extent = (count: number, bytes: number) => `${pages(count)}, ${size(bytes)}`;

/** The sheet. */
export const aboutPage = 'About this page';
export const keeping = 'Keeping this issue';
export const share = 'Share';
export const give = 'Give this article';
export const aboutGiving = 'A link for somebody without a subscription';
export const keepIssue = 'Keep this issue';
export const account = 'Your account';
export const savedPages = 'Saved pages';
export const opensOffline = 'What opens without a network';
export const close = 'Close';
export const upToDate = 'Genuine and up to date';
export const perhapsOld = 'Genuine, perhaps not the newest';
export const signedBy = (name: string, checked: number, now: number) =>
  `Signed by \u2068${name}\u2069. Last checked ${ago(checked, now)}.`;
export const openedBy = (host: string) =>
  ` ${host} checked this first page for you; this browser checks the next ones itself.`;
export const publicAddress = 'The public address of this page';
export const addressCopied = 'The address is copied.';
export const free = (bytes: number) => `${size(bytes)} free`;
export const reader = 'Reader';

/** The library. */
export const offline = 'No network. You can read what is on this device.';
export const nothingSaved =
  'Nothing is saved here yet. What you open is kept for a while; a whole issue is kept by the button on its pages.';
export const opensUntil = (time: number) => `Opens without a network until ${dayOfYear(time)}.`;
export const uses = (used: number, left: number) => `Uses ${size(used)}; ${free(left)}.`;
export const addToHome = 'Add to home screen';
export const removeAll = 'Remove everything kept';
export const keptPages = 'Kept pages';
export const pagesOfIssue = 'Pages';
export const keepRest = 'Keep the rest';
export const remove = 'Remove';
export const removeWhat = (title: string) => `Remove: ${title}`;
export const onlyOpened = 'Only what you opened';
export const frontPage = 'Front page';

/** Pages in place of a document, by error code; others are in refusals.ts. */
export const refused = {
  'hand-over-refused': { title: 'Your keys could not be fetched', lead: 'Try again in a minute.' },
  'coding-unsupported': { title: 'This browser is too old for this page', lead: 'Update it, or use another.' },
  'web-reader-failed': { title: 'Something went wrong in this browser', lead: 'Try again.' },
};

/** The vault. */
export const accessEnded = 'The publisher has ended your access';
export const wentWrong = 'Something went wrong';
export const keyProblems: Readonly<Record<string, string>> = {
  revoked: 'Ask the publisher for a new invitation.',
  'too-many-requests': 'There were too many attempts from your network. Try again in a minute.',
  'no-provider': 'There is nothing to read here yet.',
  unsupported: 'This browser cannot keep keys, perhaps because the window is private. Open the page in another one.',
};
export const noKeys = (code: string) =>
  `Your keys could not be fetched. Check your connection, and try again. (${code})`;

/** The page that opens invitations of a site without a key server. */
export const questions = {
  link: { title: 'Open the link of your invitation', label: 'Or paste it here' },
  password: { title: 'Enter the password', label: 'Password' },
};
export const opening = 'Opening …';
export const open = 'Open';
export const needsScripts = 'This page needs scripts, and your browser runs none.';
export const ended = 'This invitation no longer works, or the link is not whole.';
export const wrongPassword = 'This password opens nothing: it is wrong, or the invitation has ended.';
export const changed = 'This invitation was changed on its way to you, so it is not opened.';
export const notOpened = 'This page could not be opened: check your connection.';
export const tryAgain = 'Try again';
export const cannotRead = 'This browser cannot read here: open the link in another one.';
export const copyLink = 'Copy the link';

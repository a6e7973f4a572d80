/** The Reader's own pages. Times in seconds since 1970; names are those of publishers and sites. */
import { dayOf } from '../format.ts';
import { ago, LOCALE, plural } from './language.ts';

export const moment = (time: number) => dayOf(LOCALE, time, { dateStyle: 'medium', timeStyle: 'short' });

/** The time of day; with the day, where it is another one. */
export function clock(time: number, now: number): string {
  const [one, other] = [time, now].map((seconds) => new Date(seconds * 1000).toDateString());
  return one === other ? dayOf(LOCALE, time, { timeStyle: 'short' }) : moment(time);
}

export const BRAND = 'wispr Reader';
export const PLACES = { home: 'Your sites', connect: 'Connect', settings: 'Settings' };
export const NAMELESS = 'A publisher without a name';

/** Words of every page. */
export const PAGE = {
  skip: 'Skip to the content',
  code: 'Code',
  detail: 'Detail',
  details: 'Details',
  back: 'Back to your sites',
  account: 'Your account',
};

/** Browsers ignore Clear-Site-Data outside secure contexts. */
export const KEPT_BEFORE =
  'The usual http:// address may still show an old, unchecked copy in this browser: clear what it has stored of the site, once, and reload.';

/** Deeds that were just done, by the word in the address. */
export const DONE: Readonly<Record<string, string>> = {
  connected: 'Connected. The link below opens the site.',
  disconnected: 'Disconnected. Its keys are removed from this computer.',
  declined: 'You will not be asked for this site again; you can still connect it under “Details” of its publisher.',
  forgotten: 'The list is cleared.',
  saved: 'Saved.',
  unlocked: 'Unlocked.',
};

const NOTHING_CONNECTED = 'No site is connected yet';
const CHECKED = 'The usual http:// addresses of your sites are checked';
const COPIES = 'except for copies that it kept from before.';

export const HOME = {
  title: 'Your sites',
  lead: 'What you open here is checked against its publisher’s signature, and decrypted on this computer.',
  emptyTitle: NOTHING_CONNECTED,
  emptyLead: 'A publisher’s invitation connects this computer with its sites. Paste its link here.',
  seen: 'Sites you came across',
  seenLead: 'These have protected pages, and are not connected. With an invitation you can connect them.',
  connect: 'Connect',
  lately: 'Recently read',
  latelyNote: 'Kept in memory only, until the Reader stops.',
  latelyNone: 'Nothing since the Reader was started.',
  latelyOff: 'This list is turned off in the settings.',
  earlier: (count: number) => plural(count, { other: '# earlier' }),
  clear: 'Clear this list',
  browser: 'This browser',
  usesProxy: `This browser uses the Reader as its proxy. ${CHECKED}, ${COPIES}`,
  usedProxy: (last: number, now: number) =>
    `A browser of this kind used the Reader as its proxy ${ago(last, now)}. ${CHECKED} then, ${COPIES}`,
  needsNoProxy:
    'This browser needs no settings for the links above: the addresses that end in “localhost” lead to the Reader.',
  tunnel: (site: string, last: number, now: number) =>
    `${site} was opened with https:// ${ago(last, now)}. That bypasses the Reader and shows the public page. Open the site by the link above instead.`,
  pac: 'Address for automatic proxy configuration',
  pacHint:
    'With this in your browser’s network settings, the usual http:// addresses of your sites lead through the Reader, and nothing else does.',
  keys: 'Your keys',
  keysNote: 'A locked Reader has no keys in memory, and opens nothing until you type your passphrase again.',
  lock: 'Lock now',
};

/** Places that a document came from. */
export const FROM = {
  host: 'fetched',
  cache: 'from this computer’s store',
  browser: 'kept by the browser, still good',
};

const collections = (count: number) => plural(count, { one: 'One collection', other: '# collections' });

export const PUBLISHER = {
  revoked:
    'The publisher has disconnected this device, and gives it no new keys. Ask the publisher for a new invitation.',
  asks: (name: string, site: string) => `${name} would like to show you ${site} as well`,
  asksLead: 'You have not agreed to that, so the Reader does not open anything under that name.',
  look: 'Continue',
  decline: 'No, thank you',
  after: (site: string) => `Connect ${site} after all`,
  readable: 'What you may read',
  public: 'Public pages.',
  others: 'Keys for others come when you first open one of them.',
  until: (count: number, end: string) => `${collections(count)}, with keys until ${end}`,
  from: (count: number, start: string) => `${collections(count)}, from ${start} on`,
  expired: (count: number) => `${collections(count)} with expired keys`,
  renews: 'New keys are fetched automatically for as long as you are subscribed.',
  disconnect: 'Disconnect …',
  withdrawn: 'The publisher no longer publishes this site. Nothing of it is shown.',
  unread: 'Not opened yet.',
  refused: (why: string) => `Not shown at the moment: ${why}.`,
  current: (confirmed: number, now: number) => `Up to date ${ago(confirmed, now)}.`,
  stale: (confirmed: number, now: number) =>
    `Up to date ${ago(confirmed, now)}; there may be an update you haven’t received.`,
};

export const FACTS = {
  fingerprint: 'Fingerprint',
  server: 'Its server',
  signed: 'Description signed',
  declined: 'Declined',
  collection: (id: string) => `Collection ${id}`,
  inBrowser: (site: string) => `${site} in the browser`,
  carriedBy: (site: string) => `${site} is carried by`,
};

/** Doubts about how a site was shown to be the publisher's. */
export const DOUBTS = {
  host: undefined,
  dns: 'DNS alone said that this site is the publisher’s.',
  'trusted-by-hand': 'Not proved to be the publisher’s: you chose to trust it.',
};

const WITH_INVITATION = 'You have no invitation?';

export const CONNECT = {
  title: 'Connect with a publisher',
  filledIn: 'The page that you come from has filled in an invitation.',
  invitation: 'An invitation is a link that you have from a publisher.',
  toRead: (site: string) => `To read ${site} in the Reader, paste the link of your invitation.`,
  who: 'You will see who it is from before anything is connected.',
  whereFrom: `${WITH_INVITATION} Publishers give them to their subscribers. Ask yours for one.`,
  whereFromOf: (site: string) =>
    `${WITH_INVITATION} The publisher of ${site} gives them to its subscribers. Ask for one, or read in the browser.`,
  link: 'Link or code of your invitation',
  linkHint: 'For example https://read.news.example/-/join#ABCD-EFGH-JKMN-PQRS. It works once.',
  site: 'Site that it is for',
  siteHint: 'For example news.example. Only a code alone needs it.',
  submit: 'Continue',
  connected: (site: string) => `${site} is connected`,
  already: (site: string) => `${site} is connected already`,
  alreadyLead: 'There is nothing to do: you can open it.',
  open: (site: string) => `Open ${site}`,
};

export const CONFIRM = {
  title: (publisher: string) => `Connect with ${publisher}?`,
  more: (publisher: string) => `More sites of ${publisher}?`,
  lead: 'Nothing is connected yet.',
  none: 'You are connected with all of its sites already.',
  sites: 'It would be the publisher of',
  also: (sites: string) => `Connected already: ${sites}`,
  means: 'What that means',
  /** Rights of a site, and what it learns. */
  list: (sites: readonly string[], server: string) => [
    `It can show you pages under ${sites.join(', ')}, and everything else under ${sites.length === 1 ? 'that name' : 'these names'} is refused.`,
    'It can show you nothing under any other name, and does not learn what else you read.',
    `Its server, ${server}, gives this computer the keys to what you may read. It learns which issues you open, and when.`,
    'The computers that carry the pages learn which addresses are asked for. They learn neither keys nor content.',
    'You can disconnect at any time.',
  ],
  name: 'The publisher chose this name itself. The fingerprint under “Details” is the proof, if you know it from elsewhere.',
  submit: 'Connect',
  cancel: 'Not now',
  proof: {
    host: 'The site itself says so, over HTTPS.',
    dns: 'DNS alone says so: the site has no such file, or no HTTPS. In a network that you do not trust, anyone could have said it.',
    'trusted-by-hand': 'Not proved: you chose on the command line to trust it.',
  },
};

export const DISCONNECT = {
  title: (name: string) => `Disconnect ${name}?`,
  lead: (sites: string) =>
    `${sites} will no longer be read through the Reader, and the publisher’s keys are removed from this computer. To connect again you need a new invitation.`,
  note: 'The publisher is not notified. Sites of other publishers still work.',
  submit: 'Disconnect',
  cancel: 'Keep it',
};

export const LOCKED = {
  title: 'The Reader is locked',
  lead: 'It can’t open your sites until you unlock it. Other sites still work.',
  passphrase: 'Passphrase',
  passphraseHint: 'The one that protects your keys. It stays on this computer.',
  submit: 'Unlock',
};
/** Words after everything was forgotten that a passphrase protected. */
export const ANEW: typeof LOCKED = {
  title: NOTHING_CONNECTED,
  lead: 'Everything was forgotten. Choose a passphrase that will protect your new keys on this computer. Then you can connect.',
  passphrase: 'New passphrase',
  passphraseHint:
    'At least 8 characters; four or five unrelated words are good. It stays on this computer, and cannot be recovered.',
  submit: 'Continue',
};
export const NO_PASSPHRASE = 'No passphrase is needed: this computer has the key.';

export const DOWNLOAD = {
  title: (site: string) => `A file of ${site}`,
  lead: 'Another page led here. So that it cannot find out which sites you read, the file is fetched when you click.',
  button: 'Fetch the file',
};

const RESTART = 'Takes effect after a restart.';

export const SETTINGS = {
  title: 'Settings',
  submit: 'Save',
  wrong: 'Something is not valid, so nothing was saved.',
  given: 'Set on the command line this time.',
};

/** A setting: its name, what it does, and what is said of a value that it cannot have. */
export interface Setting {
  readonly label: string;
  readonly hint: string;
  readonly complaint?: string;
}

export const PORT = (least: number, most: number, usual: number, now: number): Setting => ({
  label: 'Port',
  hint: `A number from ${least} to ${most}; empty: ${usual}. Now ${now}; a new one takes effect after a restart, and changes all addresses of the Reader.`,
  complaint: `Not a port: a number from ${least} to ${most}, or nothing.`,
});
/** @param megabytes - in use, of how many; left out where that is not known */
export const CACHE = (megabytes: { readonly used: number; readonly limit: number } | undefined): Setting => ({
  label: 'Megabytes kept of what you read',
  hint: `For reading without a network; protected pages stay encrypted. 0 keeps nothing. ${megabytes ? `${megabytes.used} of ${megabytes.limit} megabytes in use. ` : ''}${RESTART}`,
  complaint: 'Not a number of megabytes.',
});
export const OTHER_SETTINGS = {
  parentProxy: {
    label: 'Another proxy to go through',
    hint: `For example http://proxy.example:3128; empty: none. ${RESTART}`,
    complaint:
      'Not the address of a proxy: http://, a name, and perhaps a port. One with a password is given on the command line, with --parent-proxy-file.',
  },
  allowLocal: {
    label: 'Local addresses that pages may reach',
    hint: `On this computer and in your network, one per line: printer.lan:631, 192.168.1.0/24. Empty: none, the safe choice. ${RESTART}`,
    complaint: 'Something here is neither a name nor an address, or there are more than 32.',
  },
  httpcrypt: {
    label: 'Fetch keys over plain HTTP, encrypted by HTTPCrypt',
    hint: `For networks that block HTTPS. Only from publishers who offer it, and from them in no other way. ${RESTART}`,
  },
  httpcryptTo: {
    label: 'Hosts to reach over HTTPCrypt',
    hint: `Addresses with a key, one per line: http://news.example/a/#…. What you read there by http:// goes encrypted, or not at all. ${RESTART}`,
    complaint:
      'Something here is not an address of HTTPCrypt with its key, two are of one host, or there are more than 32.',
  },
  notices: {
    label: 'Warn me before I read a site that may be out of date',
    hint: 'A page in front of it, twice a day at most. “Your sites” says it in any case.',
  },
  activity: {
    label: 'List what I read recently on the first page',
    hint: 'In memory only: the list is gone when the Reader stops.',
  },
} satisfies Readonly<Record<string, Setting>>;

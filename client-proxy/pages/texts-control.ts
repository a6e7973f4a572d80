/** What the Reader's own pages say, and what stands around every page. Those about documents that cannot be shown are in texts.ts. */

/** Of all texts here and in texts.ts, and of the way dates are written. */
export const LANGUAGE = { tag: 'en', dates: 'en-GB' } as const;

export const FRAME_TEXT = {
  language: LANGUAGE.tag,
  brand: 'wispr Reader',
  skip: 'Skip to the content',
  advice: 'What you can do',
  code: 'Code',
  details: 'Details',
  publicLink: 'Public link',
  publicLinkHint: 'The address of this page for everybody. Select it to copy it.',
  places: [
    ['home', '/', 'Your sites'],
    ['connect', '/connect', 'Connect'],
    ['settings', '/settings', 'Settings'],
  ],
} as const;

/** Where one of the Reader's own pages cannot be shown. */
export const OWN_PAGE_TEXT = { back: { text: 'To your sites', url: '/' } } as const;

/** Nothing that the Reader could send would empty a browser's cache for an http:// address: Clear-Site-Data is heeded in secure contexts only. */
const KEPT_BEFORE =
  'Where this browser uses the Reader as its proxy, the usual http:// address may still show what it kept from before, unchecked: clear what it has stored of the site, once, and reload.';

/** What was just done, by the word in the address. */
const DONE_TEXT: Readonly<Record<string, string>> = {
  connected: `Connected. The link below opens the site. ${KEPT_BEFORE}`,
  disconnected: 'Disconnected. Its keys are gone from this computer.',
  declined:
    'Noted. You will not be asked for this site again; under “Details” of its publisher you can still connect it.',
  forgotten: 'The list is forgotten.',
  saved: 'Saved.',
  unlocked: 'Unlocked.',
};

/** @param word - from the address, so anything at all */
export function doneText(word: string | null): string | undefined {
  return word !== null && Object.hasOwn(DONE_TEXT, word) ? DONE_TEXT[word] : undefined;
}

export const HOME_TEXT = {
  title: 'Your sites',
  lead: 'What you open here is fetched from wherever it is carried, checked against its publisher’s signature, and decrypted on this computer.',
  emptyTitle: 'No site is connected yet',
  emptyLead: 'A publisher’s invitation connects this computer with its sites. Paste the link of yours here.',
  unkept: {
    title: {
      full: 'The disk of this computer is full',
      other: 'The Reader cannot write what it keeps',
    },
    means:
      'What the Reader has learned of your sites since then, it goes by and holds in memory: newer publications, withdrawals, keys. When it stops, that is lost, and it has to learn it again.',
    room: 'Make room on the disk. There is no need to restart the Reader: it writes everything down by itself as soon as it can.',
    other:
      'See what keeps its database from being written. There is no need to restart the Reader: it writes everything down by itself as soon as it can.',
  },
  open: (site: string) => `Open ${site}`,
  unread: 'Not opened yet.',
  refused: (why: string) => `Not shown at the moment: ${why}.`,
  confirmed: (when: string) => `Last confirmed ${when}.`,
  notConfirmed: 'The publisher has not confirmed it in time since: there may be something newer.',
  withdrawn: 'The publisher no longer speaks for this site. Nothing of it is shown.',
  publication: (version: number) => `Publication ${version}.`,
  readable: 'What you may read',
  noKeys: 'Public pages. Keys for others come when you first open a page of theirs.',
  publicOnly: 'Public pages.',
  keysUntil: (count: number, until: string) =>
    `${count === 1 ? 'One set of pages' : `${count} sets of pages`}, with keys until ${until}`,
  keysRenewed:
    'New keys come by themselves when these end and you open such a page, for as long as you are subscribed.',
  revoked:
    'The publisher has disconnected this device, and gives it no keys any more. What you have keys for can be read until they end. Ask the publisher for a new invitation.',
  keysFrom: (count: number, from: string) =>
    `${count === 1 ? 'One set of pages' : `${count} sets of pages`}, from ${from} on`,
  keysEnded: (count: number) => `${count === 1 ? 'One set' : `${count} sets`} whose time is over`,
  asksTitle: (publisher: string, site: string) => `${publisher} would like to show you ${site} as well`,
  asks: 'You have not agreed to that, so the Reader does not check or decrypt anything under that name.',
  look: 'Look at it',
  decline: 'No, thank you',
  disconnect: 'Disconnect …',
  details: 'Details',
  facts: {
    keyServer: 'Key server',
    fingerprint: 'Fingerprint',
    since: 'Word of the publisher from',
    declined: 'Declined',
    key: 'Set',
  },
  connectAfterAll: (site: string) => `Connect ${site} after all`,
  seenTitle: 'Sites you came across',
  seen: 'These carry protected pages, and are not connected. If you have an invitation, you can connect them.',
  connect: (site: string) => `Connect ${site}`,
  browserTitle: 'This browser',
  browser: {
    proxy:
      'This browser uses the Reader as its proxy, so the usual http:// addresses of your sites lead through its checks, but for what it kept of them from before they were connected.',
    proxyLately: (when: string) =>
      `A browser of this kind used the Reader as its proxy ${when}. The usual http:// addresses of your sites lead through its checks then, but for what it kept of them from before they were connected.`,
    gateway:
      'This browser needs no settings for the links above: the addresses that end in “localhost” lead to the Reader.',
  },
  pac: 'Address for automatic proxy configuration',
  pacHint:
    'With this in your browser’s network settings, the usual http:// addresses of your sites lead through the Reader, and nothing else does.',
  tunnels: (site: string, when: string) =>
    `${site} was asked for with https:// ${when}. That goes straight to the web host, past the Reader: what it shows there is the public page. Open the site by the link above instead.`,
  lately: 'Verified lately',
  latelyNone: 'Nothing since the Reader was started.',
  latelyOff: 'This list is turned off in the settings.',
  latelyHint: 'Kept in memory only, until the Reader stops.',
  earlier: (count: number) => `${count} earlier`,
  from: { host: 'fetched', cache: 'from this computer’s store', browser: 'kept by the browser, still good' },
  public: 'public',
  set: (id: string) => `set ${id}`,
  forget: 'Forget this list',
  lock: 'Your keys',
  lockHint: 'Locked, the Reader has no keys in memory, and opens nothing until your passphrase is typed again.',
  lockNow: 'Lock now',
} as const;

export const CONNECT_TEXT = {
  title: 'Connect with a publisher',
  lead: 'An invitation is a link that you have from a publisher. You will see who it is, and what for, before anything is connected.',
  leadSite: (site: string) =>
    `To read ${site} in the Reader, paste the link of your invitation. You will see who it is from, and what for, before anything is connected.`,
  link: 'Link or code of your invitation',
  siteLabel: 'Site that it is for',
  siteHint: 'For example news.example. Only a code alone needs it.',
  linkHint: 'For example https://keys.news.example#ABCD-EFGH-JKMN-PQRS. It works once.',
  look: 'Look at it',
  known: (site: string) => `${site} is connected already`,
  justNow: (site: string) => `${site} is connected`,
  knownLead: 'There is nothing to do: you can open it.',
  keptBefore: KEPT_BEFORE,
  none: 'You have no invitation?',
  noneHint: (site: string | undefined) =>
    site === undefined
      ? 'Publishers give them to their subscribers. Ask yours for one “for the Reader”.'
      : `The publisher of ${site} gives them to its subscribers. Ask for one “for the Reader”, or read in the browser: its pages lead to its reading site.`,
} as const;

export const CONFIRM_TEXT = {
  noName: 'A publisher without a name',
  title: (name: string) => `Connect with ${name}?`,
  titleMore: (name: string) => `More sites of ${name}?`,
  lead: 'Look at what you would agree to. Nothing is connected yet.',
  sites: 'It would be the publisher of',
  proof: {
    host: 'The site itself says that this is its publisher.',
    'trusted-by-hand': 'Not proved: you said on the command line to trust this.',
  },
  also: 'Connected already',
  agree: 'What that means',
  shows: (sites: readonly string[]) =>
    sites.length === 1
      ? `It can show you pages under ${sites[0]}, and nobody else can: everything else under that name is refused.`
      : `It can show you pages under ${sites.join(', ')}, and nobody else can: everything else under these names is refused.`,
  nothingElse: 'It can show you nothing under any other name, and does not learn what else you read.',
  keyServer: (host: string) =>
    `Its key server, ${host}, gives this computer the keys to what you may read. It learns which sets of pages you open, and when.`,
  carriers:
    'The computers that carry the pages learn which addresses are asked for. They learn neither keys nor content.',
  back: 'You can disconnect at any time.',
  name: 'The name is the publisher’s own word. Sure proof is the fingerprint, if you know it from elsewhere: it stands under “Details”.',
  facts: {
    fingerprint: 'Fingerprint',
    keyServer: 'Key server',
    reading: (site: string) => `${site} in the browser`,
    content: (site: string) => `${site} is carried by`,
  },
  submit: 'Connect',
  cancel: 'Not now',
  nothingNew: 'You are connected with all of its sites already.',
  gone: {
    text: 'This invitation was looked at too long ago, or was dealt with already.',
    hint: 'Paste its link once more.',
  },
} as const;

export interface ProblemText {
  readonly text: string;
  readonly hint?: string;
}

const KEY_SERVER_WRONG: ProblemText = {
  text: 'The key server of this invitation gave no proper answer.',
  hint: 'Try again in a few minutes. If it stays like this, tell the publisher, with the code below.',
};
const PUBLICATION_WRONG: ProblemText = {
  text: 'What the publisher has signed cannot be had, or is not in order.',
  hint: 'Try again in a few minutes. If it stays like this, tell the publisher, with the code below.',
};
const DAMAGED: ProblemText = {
  text: 'The answer to this computer was changed on its way.',
  hint: 'Try another network. If it stays like this, tell the publisher, with the code below.',
};

/** What a database that takes no change is called, and what helps, by code. */
const UNWRITTEN: Readonly<Record<'disk-full' | 'store-unwritable' | 'store-busy', Required<ProblemText>>> = {
  'disk-full': {
    text: 'The disk of this computer is full',
    hint: 'Make room on the disk, and try again. The Reader need not be restarted for it.',
  },
  'store-unwritable': {
    text: 'The Reader cannot write to its database',
    hint: 'See whether its disk can be written, and who may write to its folder, and try again. Do not stop the Reader before.',
  },
  'store-busy': {
    text: 'Another program is writing to the database of the Reader',
    hint: 'Try again in a moment. If it stays so, end that program. The Reader need not be restarted for it.',
  },
};

/** @param so - what follows from it */
function unwritten(so: string): Readonly<Record<string, ProblemText>> {
  const told = Object.entries(UNWRITTEN).map(([code, { text, hint }]) => [code, { text: `${text}, so ${so}.`, hint }]);
  return Object.fromEntries(told);
}

/** Why a connection did not come about, by code. */
const PROBLEMS: Readonly<Record<string, ProblemText>> = {
  'link-malformed': {
    text: 'This is not the link of an invitation for the Reader.',
    hint: 'Copy the whole link. Of the two in an invitation it is the one that has # right behind the address; the other one is for browsers.',
  },
  'code-needed': {
    text: 'The link has no code, and this computer is not connected with its key server yet.',
    hint: 'Copy the whole link, with # and what stands behind it.',
  },
  'code-alone': {
    text: 'A code alone does not say which publisher it is from.',
    hint: 'Say which site it is for, or copy the whole link, which has the code behind #.',
  },
  'code-refused': {
    text: 'The code in this link is not good: mistyped, used already, or too old.',
    hint: 'Copy the whole link once more. If it was used on another device, ask the publisher for a new invitation.',
  },
  'clock-off': {
    text: 'The clock of this computer is wrong.',
    hint: 'Key servers refuse requests whose time is more than five minutes off. Set the clock, and try again.',
  },
  'descriptor-foreign': {
    text: 'The address in this link belongs to another key server.',
    hint: 'Use the address that the publisher gave you.',
  },
  'descriptor-older': {
    text: 'The key server shows something older than this computer has seen already.',
    hint: 'Try again later. If it stays like this, tell the publisher.',
  },
  'descriptor-expired': { ...KEY_SERVER_WRONG, text: 'What the publisher has signed about itself has expired.' },
  ...unwritten('the connection could not be kept'),
  'site-taken': {
    text: 'One of these sites is connected already, with another publisher or key server.',
    hint: 'Two publishers never share a site. If the site has changed hands, disconnect the old publisher first.',
  },
  'host-proof': {
    text: 'A site does not say that this is its publisher, so it was not connected.',
    hint: 'Anybody can claim a site; so the site itself has to name its publisher, at its own address. If the invitation is genuine, tell the publisher, with the code below.',
  },
  'host-proof-unreachable': {
    text: 'A site could not be asked whether this is its publisher, so it was not connected.',
    hint: 'It did not answer. Check your connection, and try again; your invitation is still good. If it stays like this, tell the publisher, with the code below.',
  },
  'not-confirmed': { text: 'No site was chosen, so nothing was connected.', hint: 'Choose at least one.' },
  'key-server-unreachable': {
    text: 'The key server of this invitation does not answer.',
    hint: 'Check the link and your connection, and try again.',
  },
  'key-server-certificate': {
    text: 'The key server of this invitation cannot prove who it is.',
    hint: 'Check the link, and the clock of this computer. Another network may help.',
  },
  'key-server-answer': KEY_SERVER_WRONG,
  'descriptor-malformed': KEY_SERVER_WRONG,
  'descriptor-signature': KEY_SERVER_WRONG,
  'binding-malformed': DAMAGED,
  'binding-confirmation': DAMAGED,
  'metadata-missing': PUBLICATION_WRONG,
  'content-host-unreachable': { ...PUBLICATION_WRONG, text: 'The site does not answer.' },
  'root-unexpected': PUBLICATION_WRONG,
};

/** What to say of a failed attempt to connect. */
export function problemText(code: string): ProblemText {
  return PROBLEMS[code] ?? { text: 'The connection did not come about. Nothing was changed.' };
}

export const DISCONNECT_TEXT = {
  title: (name: string) => `Disconnect ${name}?`,
  lead: (sites: string) =>
    `${sites} will not be read through the Reader any more, and the publisher’s keys go from this computer. To connect again you need a new invitation.`,
  hint: 'The publisher is not told. Other publishers are not concerned.',
  submit: 'Disconnect',
  cancel: 'Keep it',
} as const;

export const LOCKED_TEXT = {
  title: 'The Reader is locked',
  lead: 'It has let go of its keys, so nothing of your sites can be opened. Other sites are not concerned.',
  passphrase: 'Passphrase',
  passphraseHint: 'The one that you chose for your keys on this computer. It stays on this computer.',
  noPassphrase: 'No passphrase is needed: this computer has the key.',
  submit: 'Unlock',
} as const;

/** Where everything was forgotten that a passphrase protected. */
export const ANEW_TEXT = {
  title: 'No site is connected yet',
  lead: 'Everything was forgotten. A passphrase protected your keys on this computer: choose the one that protects those that come now. Then you can connect.',
  passphrase: 'New passphrase',
  passphraseHint:
    'At least 8 characters; four or five unrelated words are good. It stays on this computer, and nobody can find it out if it is lost.',
  submit: 'Go on',
} as const;

/** Why a Reader stays locked, by code. */
const UNLOCK_PROBLEMS: Readonly<Record<string, ProblemText>> = {
  ...unwritten('the Reader is still locked'),
  'passphrase-wrong': {
    text: 'This is not the passphrase. The Reader is still locked.',
    hint: 'Try again; look at Caps Lock and at the keyboard’s language.',
  },
  'passphrase-too-short': {
    text: 'This passphrase has fewer than 8 characters.',
    hint: 'Four or five unrelated words are easy to remember and hard to guess.',
  },
  'unlock-too-often': {
    text: 'Too many wrong passphrases in a row, so this one was not looked at.',
    hint: 'Wait ten seconds, and try again.',
  },
  'storage-key-missing': {
    text: 'The key of this computer is not where it was, so the Reader is still locked.',
    hint: 'Restore it from a backup. Where there is none, start the Reader on the command line: it says how to go on.',
  },
  'storage-key-wrong': {
    text: 'What this computer has as its key does not fit, so the Reader is still locked.',
    hint: 'Restore the key from a backup. Where there is none, start the Reader on the command line: it says how to go on.',
  },
  'keyring-unavailable': {
    text: 'The keyring of this computer, which has the key, cannot be used.',
    hint: 'Sign in to the desktop, which opens it, and try again. Where there is none, start the Reader on the command line: it says how to go on.',
  },
};

/** What to say of a failed attempt to unlock. */
export function unlockProblemText(code: string): ProblemText {
  return (
    UNLOCK_PROBLEMS[code] ?? {
      text: 'The Reader is still locked: its keys could not be had.',
      hint: 'Stop the Reader, and start it again on the command line: it says how to go on.',
    }
  );
}

export const SETTINGS_TEXT = {
  title: 'Settings',
  submit: 'Save',
  wrongTitle: 'Something cannot be as it stands, so nothing was saved.',
  fixed: 'Given on the command line for this run of the Reader, which counts.',
  port: {
    label: 'Port',
    hint: (now: number, usual: number) =>
      `A number from 1024 to 65535; empty: ${usual}. Now ${now}; another one counts from the next start on, and changes all addresses of the Reader.`,
    wrong: 'Not a port: a number from 1024 to 65535, or nothing.',
  },
  parentProxy: {
    label: 'Another proxy to go through',
    hint: 'For example http://proxy.example:3128; empty: none. Counts from the next start on.',
    wrong:
      'Not the address of a proxy: http://, a name, and perhaps a port. One with a password is given on the command line, in a file: --parent-proxy-file.',
  },
  allowLocal: {
    label: 'Addresses on this computer and in your own network that pages may reach through the Reader',
    hint: 'One in each line, perhaps with a port: printer.lan:631, 192.168.1.0/24. Empty: none, which is the safe choice. Counts from the next start on.',
    wrong: 'Something here is neither a name nor an address, or there are more than 32.',
  },
  cacheBytes: {
    label: 'How much of what you read is kept on this computer, in megabytes',
    hint: (now: number | undefined, limit: number) =>
      `It can be read again without a network, and is kept as it came: encrypted, public pages as they are. 0 keeps nothing. ${now === undefined ? '' : `${now} of ${limit} megabytes ${now === 1 ? 'is' : 'are'} in use. `}Another number counts from the next start on.`,
    wrong: 'Not a number of megabytes.',
  },
  notices: {
    label: 'Tell me before I read a site that has not been confirmed for long',
    hint: 'A page in front of it, twice a day at most. “Your sites” says it in any case.',
  },
  activity: {
    label: 'List on the first page what was verified lately',
    hint: 'In memory only: the list is gone when the Reader stops.',
  },
} as const;

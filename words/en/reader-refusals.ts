/** Pages and forms of the Reader that could not do what was asked: what happened, and what to do. By error code. */

const KEY_TROUBLE = {
  title: 'The key for this page failed a check',
  lead: 'What the publisher’s server sent cannot be used. Try again in a few minutes, or connect again with a new invitation.',
};
const HTTPCRYPT_FAILS = {
  title: 'The server cannot be reached over HTTPCrypt',
  lead: 'You chose this way for it, in the settings or by --httpcrypt-to, so nothing went by another. Check the clock of this device and its address and key, if you typed them, or try another network.',
};
const KEY_SERVER_SILENT =
  'The key for this page is not on this device yet. Check your connection, and try again; what you have keys for can still be read.';

export const OWN_FAULT = {
  title: 'The Reader has a problem of its own',
  lead: 'Something went wrong on this device. Restart the Reader, and read what it prints.',
};

/** Pages in place of one. */
export const REFUSED = {
  'wrapped-key-invalid': KEY_TROUBLE,
  'answer-unreadable': KEY_TROUBLE,
  'descriptor-expired': {
    title: 'The publisher’s description of this site is out of date',
    lead: 'A newer one could not be loaded. Check your connection and the clock of this device, and try again.',
  },
  'key-server-unreachable': { title: 'The publisher’s server does not answer', lead: KEY_SERVER_SILENT },
  'channel-key-refused': HTTPCRYPT_FAILS,
  'channel-unreadable': HTTPCRYPT_FAILS,
  'channel-not-repeated': {
    title: 'What you sent may not have arrived',
    lead: 'No answer to it could be read, as after a restart of the server. It may have arrived all the same: look before you send it again.',
  },
  'key-server-certificate': {
    title: 'The publisher’s server cannot prove its identity',
    lead: 'Its certificate is not valid, so no key was fetched. Check the clock of this device, or try another network.',
  },
  'key-server-answer': { title: 'The publisher’s server gave an answer that makes no sense', lead: KEY_SERVER_SILENT },
  'site-withdrawn': {
    title: 'The publisher no longer publishes this site',
    lead: 'You are connected with the publisher, but it does not list this site any more. Ask the publisher about it.',
  },
  'reader-locked': {
    title: 'The Reader is locked',
    lead: 'It can’t open your sites until you unlock it; then this page comes back by itself.',
  },
  'reader-busy': {
    title: 'The Reader is busy',
    lead: 'Too many programs have stopped reading what they asked for. Close them, or try again in a minute.',
  },
  'store-damaged': OWN_FAULT,
  'store-unusable': {
    title: 'The Reader cannot use its database',
    lead: 'It was removed or replaced while the Reader was running, and unlocking does not help. Put its files back or restore a backup, then start the Reader again. As a service: systemctl --user restart wispr.service',
  },
  'store-unwritable': {
    title: 'The Reader cannot write to its database',
    lead: 'Nothing was changed. Check that its disk and folder can be written, and try again. The Reader need not be restarted.',
  },
  'disk-full': {
    title: 'The disk of this device is full',
    lead: 'There is no room for what the Reader has to keep. Nothing was changed. Make room, and try again. The Reader need not be restarted.',
  },
  internal: OWN_FAULT,
  'bad-request': {
    title: 'The request is malformed',
    lead: 'It is not valid HTTP/1.1, or asks for an address other than http://.',
  },
  'method-refused': {
    title: 'Pages of this site can only be read',
    lead: 'Forms, uploads and service workers do not work on a published site.',
  },
  'cross-site': {
    title: 'Another site requested this page',
    lead: 'Other sites can neither load pages in the Reader nor send forms to it. Open the address in a tab of its own.',
  },
  'other-user': {
    title: 'This Reader belongs to another user',
    lead: 'It serves only the user of this device who started it. Start a Reader of your own, on another port.',
  },
  'host-unknown': {
    title: 'The Reader does not know this address',
    lead: 'No connected site has this name. It may have been disconnected.',
  },
  'form-malformed': {
    title: 'The form did not arrive correctly',
    lead: 'Nothing was changed. The Reader may have been restarted in the meantime: open the page again, and fill in the form once more.',
  },
  'page-unknown': { title: 'The Reader has no such page', lead: 'There is nothing at this address.' },
  'local-refused': {
    title: 'This address is in your own network',
    lead: 'Web pages could use the Reader to reach your devices, so this is refused. If you opened it yourself, tell the browser not to use the proxy for this address, or start the Reader with --allow-local.',
  },
  'port-refused': {
    title: 'The Reader makes no connections to this port',
    lead: 'It is not for reading, or would bypass the checks of a connected site. Open the address without the number after the name.',
  },
  loop: { title: 'The request would come back to the Reader', lead: 'The address leads to this program itself.' },
  'host-unreachable': {
    title: 'The site does not answer',
    lead: 'Check the address for a missing or extra letter, and your connection, and try again.',
  },
  'host-answer': {
    title: 'The server gave an answer that makes no sense',
    lead: 'What it sent cannot be used. Try again in a few minutes.',
  },
  'parent-proxy-unreachable': {
    title: 'The parent proxy does not answer',
    lead: 'The Reader goes through another proxy, which is down, does not speak HTTP, or did not accept its name and password. The site may well be up. Check that proxy in the Reader’s settings or in --parent-proxy, or remove it there.',
  },
} as const;

/** Ways on from them. */
export const WAYS = { unlock: 'Unlock the Reader', home: 'Your sites', readAt: (host: string) => `Read at ${host}` };

/** Complaints about a form, on the page that shows it again. */
export interface Problem {
  readonly text: string;
  readonly hint?: string;
}
type Problems = Readonly<Record<string, Problem | undefined>>;

const TELL_PUBLISHER = 'Try again in a few minutes. If it happens again, tell the publisher the code below.';
const PUBLICATION_WRONG = 'The publisher’s signed files could not be loaded, or are not valid.';
const DAMAGED: Problem = {
  text: 'The answer of the publisher’s server is malformed, or was changed on its way.',
  hint: 'Try another network. If it happens again, tell the publisher the code below.',
};

/** Reasons for which a connection failed, where it is not for a reason that the pages of documents have too. */
export const NOT_CONNECTED: Problems = {
  'link-malformed': {
    text: 'This is not the whole link of an invitation.',
    hint: 'Copy the whole link, with # and what stands behind it; a code alone needs its site. A browser that opened the link offers it under “The Reader did not open?”',
  },
  'read-in-browser': {
    text: 'This site is read in a browser: no Reader can be connected with it.',
    hint: 'Open the link of your invitation in your browser.',
  },
  'code-refused': {
    text: 'This invitation no longer works: its code is mistyped, used or too old.',
    hint: 'Copy the whole link once more. If it was used on another device, ask the publisher for a new invitation.',
  },
  'seats-taken': {
    text: 'All seats of this invitation are taken.',
    hint: 'Ask who sent it to you to free one, or to add some; then try again. The link stays good.',
  },
  'too-many-devices': {
    text: 'You read on as many devices as your publisher allows.',
    hint: 'Remove one in your account, then come back and connect. Your invitation still works.',
  },
  'site-taken': {
    text: 'One of these sites is connected already, with another publisher.',
    hint: 'Two publishers never share a site. If the site has changed hands, disconnect the previous publisher first.',
  },
  'descriptor-foreign': {
    text: 'This invitation is not from the publisher of that site, so nothing was connected.',
    hint: 'Your code was not sent. Ask the publisher itself for an invitation.',
  },
  'host-proof': {
    text: 'A site does not say that this is its publisher, so it was not connected.',
    hint: 'A site has to name its publisher at its own address. If the invitation is genuine, tell the publisher the code below.',
  },
  'host-unreachable': {
    text: 'A site could not be asked whether this is its publisher, so it was not connected.',
    hint: 'It did not answer. Check your connection, and try again; your invitation still works.',
  },
  'argument-invalid': { text: 'No site was chosen, so nothing was connected.', hint: 'Choose at least one.' },
  'descriptor-malformed': DAMAGED,
  'binding-malformed': DAMAGED,
  'metadata-missing': {
    text: 'The site has not published anything yet that this computer could check.',
    hint: 'Try again once the site is published; your invitation still works.',
  },
  'content-host-unreachable': { text: 'The site does not answer.', hint: TELL_PUBLISHER },
  'root-unexpected': { text: PUBLICATION_WRONG, hint: TELL_PUBLISHER },
};

export const INVITATION_GONE: Problem = {
  text: 'This invitation was opened too long ago, or has been used.',
  hint: 'Paste its link once more.',
};

const ON_COMMAND_LINE = 'Without one, start the Reader on the command line: it says how to go on.';

/** Reasons for which a Reader stays locked. */
export const STILL_LOCKED: Problems = {
  'passphrase-wrong': {
    text: 'This is not the passphrase. The Reader is still locked.',
    hint: 'Try again; check Caps Lock and the keyboard’s language.',
  },
  'passphrase-too-short': {
    text: 'This passphrase has fewer than 8 characters.',
    hint: 'Four or five unrelated words are easy to remember and hard to guess.',
  },
  'too-many-requests': {
    text: 'Too many wrong passphrases in a row, so this one was not tried.',
    hint: 'Wait ten seconds, and try again.',
  },
  'storage-key-refused': {
    text: 'The key of this computer is missing or does not fit, so the Reader is still locked.',
    hint: `Restore it from a backup. ${ON_COMMAND_LINE}`,
  },
  'keyring-unavailable': {
    text: 'The keyring of this computer, which has the key, cannot be used.',
    hint: `Sign in to the desktop, which opens it, and try again. ${ON_COMMAND_LINE}`,
  },
};

/** Mails to readers, by kind. A code or an address is a paragraph of its own. */

export interface MailFields {
  readonly publisher: string;
  readonly site: string;
  /** The publisher's colour, as CSS has it. */
  readonly accent?: string;
  readonly name?: string;
  /** Change in an account, as a sentence begins. */
  readonly what?: string;
  readonly link?: string;
  /** `undefined`: the link alone. */
  readonly code?: string | undefined;
  readonly until?: string;
  /** Page that ends mails like this one. */
  readonly unsubscribe?: string;
}

interface MailWords {
  readonly subject: string;
  readonly paragraphs: readonly (string | undefined)[];
}

const asked = 'It works for 10 minutes. If you have not asked for it, do nothing';
const typed = 'Type it into the page that asked for it.';
const codeSubject = ({ publisher, code }: MailFields) => `Your code for ${publisher}: ${code}`;

export const MAILS = {
  invitation: ({ publisher, name, link, until, unsubscribe }) => ({
    subject: `Your invitation to read ${publisher}`,
    paragraphs: [
      `${publisher} invites you to read as ${name}:`,
      link,
      `The link works once, until ${until}. It signs in as you: do not pass it on.`,
      unsubscribe && `No more invitations by mail: ${unsubscribe}`,
    ],
  }),
  'sign-in': (fields) => ({
    subject: fields.code ? codeSubject(fields) : `Your link to read ${fields.publisher}`,
    paragraphs: [
      ...(fields.code
        ? [`Your code for ${fields.publisher} is`, fields.code, `${typed} Or open this link, in any browser:`]
        : ['Open this link to sign in, in any browser. There is no code this time: too many wrong ones were tried.']),
      fields.link,
      `${asked}: without it there is no sign-in.`,
    ],
  }),
  'sign-up': (fields) => ({
    subject: codeSubject(fields),
    paragraphs: [`Your code to begin reading ${fields.publisher} is`, fields.code, `${typed} ${asked}.`],
  }),
  move: (fields) => ({
    subject: codeSubject(fields),
    paragraphs: [
      `A subscriber of ${fields.publisher} asked to use this address from now on. The code is`,
      fields.code,
      `${typed} ${asked}.`,
    ],
  }),
  moved: ({ publisher }) => ({
    subject: `Your address at ${publisher} was changed`,
    paragraphs: [
      `Your account at ${publisher} has another mail address from now on. If that was not you, tell ${publisher}.`,
    ],
  }),
  added: ({ publisher, what }) => ({
    subject: `${what} in your account at ${publisher}`,
    paragraphs: [
      `${what} in your account at ${publisher}. If that was not you, open your account there, tick that passkeys, password and devices are removed, and sign out everywhere. Then tell ${publisher}.`,
    ],
  }),
  bought: ({ publisher, name, link }) => ({
    subject: `Thank you: you can read ${publisher}`,
    paragraphs: [
      `Thank you for subscribing to ${publisher}. This link opens it, in any browser:`,
      link,
      `It works once, for 7 days, and signs in as ${name}: do not pass it on. Later, sign in with your mail address; your subscription and its invoices are in your account there.`,
    ],
  }),
  'payment-failed': ({ publisher, link }) => ({
    subject: `The last payment for ${publisher} failed`,
    paragraphs: [
      `The last payment of your subscription to ${publisher} failed. You can read on for now. To keep it, update your card in your account:`,
      link,
    ],
  }),
} as const satisfies Readonly<Record<string, (fields: MailFields) => MailWords>>;

/** Changes that the mail `added` tells of. */
export const ADDITIONS = {
  password: 'A password was set',
  reader: 'A link that connects a Reader was made',
  passkey: 'A passkey was added',
};

/** Text of a button that leads to an address. */
export const OPEN_LINK = 'Open the link';

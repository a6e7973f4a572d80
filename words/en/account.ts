/** The account: what can be read, where, and how one signs in. */
import { html } from '../html.ts';
import { timesOf } from './gifts.ts';
import { ago, day, plural } from './language.ts';

export const ACCOUNT = {
  yourAccount: 'Your account',
  back: '‹ Back to the paper',
  ended: 'The publisher has ended your access. Ask the publisher for a new invitation.',

  yourSubscription: 'Your subscription',
  nothing: 'No plan yet. Ask the publisher.',
  everything: 'Everything',
  read: (publisher: string) => `Read ${publisher}`,
  /** Begin and end of a grant. Times in seconds since 1970. */
  endedOn: (time: number, zone: string) => `ended on ${day(time, zone)}`,
  from: (time: number, zone: string) => `from ${day(time, zone)}`,
  until: (time: number, zone: string) => `until ${day(time, zone)}`,
  noEnd: 'no end date',

  gaveAway: 'Pages that you gave away',
  /** Openings that a link has left, and its end. */
  gift: (openings: number, expires: number) =>
    openings === 0
      ? `used up, until ${day(expires, 'UTC')}`
      : `opens ${timesOf(openings)} more, until ${day(expires, 'UTC')}`,
  takeBack: 'Take back',
  takeWhatBack: (page: string) => `Take back: ${page}`,
  aboutGifts: 'A link that you take back opens nothing from then on, also where it was opened before.',

  whereYouRead: 'Where you read',
  device: { browser: 'A browser', reader: 'A Reader' },
  named: (browser: string, system: string) => `${browser} on ${system}`,
  here: { phone: 'This phone, now', other: 'This browser, now' },
  connected: (time: number) => `connected on ${day(time, 'UTC')}`,
  seen: (time: number, now: number) => `used ${ago(time, now)}`,
  lastUsed: (time: number) => `last used on ${day(time, 'UTC')}`,
  added: (time: number) => `added on ${day(time, 'UTC')}`,
  remove: 'Remove',
  /** Names of several buttons, for screen readers. */
  removeWhat: (title: string, used: string) => `Remove: ${title}, ${used}`,
  aboutDevices: 'A device that you remove gets no new keys. What it has, it keeps until these run out.',
  noDevices: 'No Reader so far, and no browser that keeps pages.',
  addComputer: 'Add a computer',
  connectReader: 'Connect the Reader on this computer',
  showLink: 'Show a link to copy',

  signingIn: 'Signing in',
  /** Ways to sign in, on one line. */
  ways: (passkeys: number, isMailed: boolean, hasPassword: boolean) =>
    [
      passkeys === 0 ? 'no passkey' : plural(passkeys, { one: '# passkey', other: '# passkeys' }),
      ...(isMailed ? ['mail'] : []),
      hasPassword ? 'password' : 'no password',
    ].join(' · '),
  passkeys: 'Passkeys',
  aboutPasskeys:
    'A passkey signs you in without a password: by a finger, a face, or the code that unlocks your device.',
  passkeyName: 'Name of the passkey',
  passkeyExample: 'My phone',
  noPasskey: 'No passkey was added. If this device has one already, it is in the list.',
  addPasskey: 'Add a passkey',

  password: 'Password',
  shortPassword: (length: number) =>
    `The password needs at least ${length} characters. A few words in a row are easy to remember.`,
  newPassword: 'New password',
  aboutPassword: (length: number) =>
    `Optional: with your name and a password you can sign in on another device, or here after signing out. At least ${length} characters.`,
  changePassword: 'Change the password',
  setPassword: 'Set password',
  removePassword: 'Remove the password',
  othersSignIn: 'Other browsers have to sign in again after each.',

  mailAddress: 'Mail address',
  newAddress: 'New mail address',
  aboutAddress: 'It becomes your name here, once you have typed the code that is mailed to it.',
  sendCode: 'Send the code',

  thisBrowser: 'This browser',
  otherProgram: (version: string, signed: string) =>
    html`Pages are opened by program version <code>${version}</code>, which is not the one that the publisher signed (<code>${signed}</code>). If it stays so, ask the publisher.`,
  signedProgram: (version: string) =>
    html`Pages are opened by program version <code>${version}</code>, as the publisher signed it.`,
  unsignedProgram: (version: string) =>
    html`Pages are opened by program version <code>${version}</code>. The publisher has not signed a version.`,
  signOut: 'Sign out',
  andRemove: 'and remove my passkeys, password and devices',
  signOutEverywhere: 'Sign out everywhere',
  otherWaysOut: 'Everywhere, or for good',
  forget: 'Forget this browser',
  aboutForgetting:
    'Takes every page and key away from here, as “Sign out” does, and removes this browser from where you read.',
  noWayBack: 'Without a password or a passkey you need a new invitation to come back.',

  yourData: 'Your data',
  aboutData: 'download, delete',
  download: 'Download my data',
  deleteData: 'Delete my data',
  confirmFirst:
    'To add or remove a passkey, a password, a Reader or a mail address, or to download or delete your data, sign in once more.',
  confirm: 'Confirm that it is you',

  goes: 'This goes at once, and for good: your name and address, your subscriptions here and what they let you read, your devices, passkeys, sessions and password.',
  stays:
    'This stays: what you keep on your own devices, until its keys run out; backups of this server, until the publisher replaces them; a digest of your address, if you signed up here, so that a trial is given once; your name in the record of changes, which shows what was done at this server, when and by whom.',
  elsewhere:
    'Another system, such as the shop where you pay, keeps what it has, and goes on until you end the subscription there.',
  deleteEverything: 'Delete everything',
  backToAccount: 'Back to your account',
};

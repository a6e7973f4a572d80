/** The page of an invitation. */
import { html } from '../html.ts';

export const JOIN = {
  join: 'Join',
  welcome: 'Ready to read',
  readOn: 'Read on',
  connectReader: 'Connect the Reader',
  present: (name: string) => html`You are signed in as <strong>${name}</strong>: <a>read on</a>.`,
  another: (name: string) => `To join with another name signs ${name} out here.`,
  invited: (publisher: string) => `You are invited to read ${publisher}.`,
  seat: (seats: number, group: string) => `A place of ${seats} at ${group}.`,
  /** @param state - when it begins or ends */
  plan: (title: string, state: string) => `${title}, ${state}.`,
  usedTitle: 'This link was used, or is too old',
  used: 'If you have used it before, <a>sign in</a>; otherwise ask the publisher for a new one.',
  usedMailed: 'If you have used it before, <a>sign in</a>; or let <a>a new link</a> be sent to you.',
  full: 'All seats of this invitation are taken. Ask who sent it to you to free one, or to add some; then open this link again.',
  here: 'Read in this browser',
  /** `#` is the name. */
  hereAs: 'Read as #',
  once: 'This link works once.',
  /** `<strong>` is filled with the name. */
  forWhom: 'It is for <strong></strong>.',
  inReader: 'Connect the Reader on this computer',
  notOpened: 'The Reader did not open?',
  aboutReader:
    'The wispr Reader is a program that checks every page on your own computer. Copy this link, open the Reader, and paste the link there.',
  readerLink: 'Link for the Reader',
  copy: 'Copy the link',
  copied: 'Copied',
  openReader: 'Open the Reader',

  typedTitle: 'Use an invitation',
  choosePassword: (publisher: string) =>
    html`Choose a password for reading <strong>${publisher}</strong> in this browser. Your invitation works once.`,
  codeRefused:
    'This invitation no longer works: it was mistyped, used before, or is too old. If you have a password already, <a>sign in</a>; otherwise ask the publisher for a new invitation.',
  code: 'Invitation code',
  newPassword: 'New password',
  shortPassword: (length: number) =>
    `The password needs at least ${length} characters. A few words in a row are easy to remember.`,
  atLeast: (length: number) => `At least ${length} characters.`,
  showPassword: 'Show the password',
  setPassword: 'Set password and sign in',
  hasPassword: 'Do you have a password already? <a>Sign in</a>.',
};

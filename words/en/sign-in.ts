/** Signing in and signing up: the form, the code that is mailed, and why another way failed. */
import { html } from '../html.ts';
import { plural } from './language.ts';

export const SIGN_IN = {
  signIn: 'Sign in',
  signInToRead: 'Sign in to read',
  confirm: 'Confirm that it is you',
  left: 'You are signed out. What this browser kept was removed.',
  forgottenHere: 'This browser is forgotten. What it kept was removed.',
  mismatch: 'That name and password don’t match. Check both, and whether Caps Lock is on.',
  confirmLead: (name: string) =>
    html`You are signed in as <strong>${name}</strong>. To add or remove ways to sign in, to connect a Reader, or to take or delete your data, sign in once more, and press the button again within 15 minutes. Without a password, a passkey or mail, ask the publisher for an invitation of your own, and open it here.`,
  forSubscribers: 'This page is for subscribers. You come back to it after signing in.',
  comeBackTo: (headline: string) => html`You come back to <strong>${headline}</strong>.`,

  nameOrAddress: 'Name or mail address',
  name: 'Name',
  mailAddress: 'Mail address',
  password: 'Password',
  usePassword: 'Use a password',
  sendCode: 'Send me a code',
  withPasskey: 'Sign in with a passkey',
  noPasskey: 'No passkey was used. Try again, or sign in another way.',
  newHere: 'New here? <a>Sign up</a> by mail.',
  noSubscription: 'No subscription yet? <a>Subscribe</a>.',
  invited: 'Were you sent an invitation? Open its link in this browser, or <a>type its code</a>.',
  forgotten: 'A forgotten password is replaced the same way: ask the publisher for a new invitation.',

  /** Reasons for which signing in another way than by password has failed, by error code. */
  refused: {
    'passkey-refused':
      'That passkey doesn’t work here, or it took more than five minutes. Try again, or sign in another way.',
    'openid-cancelled': 'You have not signed in there. Try again, or sign in another way.',
    'openid-unreachable':
      'Signing in there doesn’t work at the moment. Try again in a few minutes, or sign in another way.',
    'openid-unusable':
      'Signing in there doesn’t work: the publisher has to set it right. Sign in another way, and tell the publisher.',
    'openid-clock-off':
      'Signing in there doesn’t work: a clock is wrong, and not yours. Sign in another way, and tell the publisher.',
    'openid-refused':
      'Signing in there was not completed: it took too long, or was begun in another browser. Try again.',
  },

  signUp: 'Sign up',
  read: (publisher: string) => `Read ${publisher}`,
  trial: (days: number) =>
    `${plural(days, { one: 'Free for # day', other: 'Free for # days' })}, once with each address.`,
  comeBack: 'You come back to your page afterwards.',
  noAddress: 'That is no mail address that can be used here.',
  isSubscriber: 'Are you a subscriber already? <a>Sign in</a>.',

  yourCode: 'Your code',
  checkMail: 'Check your mail',
  codeOver: 'This code no longer works',
  codeOverWhy:
    'It was used, is older than 10 minutes, or was mistyped too often; or this browser refuses cookies, without which nobody can sign in.',
  newCode: 'Get a new code',
  codeWrong: 'That code doesn’t match. Type the six digits of the newest mail.',
  codeComes: (address: string) =>
    html`A code is on its way to <strong>${address}</strong>. Type its six digits here: the page goes on by itself.`,
  /** Sentence that does not tell whether the name is known. */
  codeMayCome: (address: string) =>
    html`If <strong>${address}</strong> can get mail from here, a code is on its way. Type its six digits here: the page goes on by itself. Or open the link of the mail.`,
  code: 'Code',
  goOn: 'Continue',
  codeFor: 'The code works for 10 minutes, in this browser. No mail? Look into the spam folder, or <a>start again</a>.',
  sendAgain: 'Send it again',
  /** Label while it counts down; `#` is the number of seconds. */
  sendAgainIn: 'Send it again in # s',
};

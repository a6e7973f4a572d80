/** Subscribing, and what is paid for: the plans, the way to the shop and back, the plan in the account. */
import { plural } from './language.ts';
import { SIGN_IN } from './sign-in.ts';

const free = (days: number, price?: string) =>
  `${plural(days, { one: '# day', other: '# days' })} free${price === undefined ? '' : `, then ${price}`}`;

/** Words of the page of plans. */
export const SUBSCRIBE = {
  title: 'Subscribe',
  comesBack: 'You come back to your page afterwards.',
  comesBackTo: SIGN_IN.comeBackTo,
  choose: 'Choose a plan',
  pay: 'Continue to payment',
  next: 'Continue',
  trialFirst: (days: number, price?: string) => `Start with ${free(days, price)}`,
  free,
  nothing: 'There is nothing to subscribe to here at the moment. Ask the publisher.',
  paidAt: (shops: readonly string[]) => `Paid at ${shops.join(' or ')}.`,
  mailed: 'We mail a link to the address that you type there, and this browser opens your page when you come back.',
  opens: 'This browser opens your page when you come back.',
  held: 'You have this plan.',
  paidApart: 'To change your plan, go to your account: what you choose here is paid in addition.',
  changedAt: (host: string) => `You pay for a plan already. At ${host} you change it to the one that you choose.`,
  member: 'Are you a subscriber already?',
  signIn: 'Sign in',
  account: 'Your account',
};

/** Words of the page to which the shop leads back. */
export const BOUGHT = {
  account: 'Your account',
  wait: { title: 'One moment', text: 'Your payment arrives. Your page opens by itself.' },
  mail: {
    title: 'Check your mail',
    text: 'Thank you. Once your payment arrives here, the link to read is mailed to the address that you typed there. Look into the spam folder too; if nothing comes in an hour, ask the publisher.',
  },
  none: {
    title: 'Thank you',
    text: 'Your payment has not arrived here yet, or was made in another browser. Sign in to read, or ask the publisher for a link.',
  },
};

/** Words of the card of a plan in the account. */
export const PLAN = {
  active: 'active',
  ended: 'ended',
  since: (day: string) => `You may read what came out since ${day}.`,
  renews: (day: string) => `renews on ${day}`,
  ends: (day: string) => `ends on ${day}`,
  portal: 'Change, invoices, card',
  unpaid: 'payment failed',
  due: 'payment due',
  failed: 'The last payment failed.',
  card: 'Update your card',
  keep: 'to keep this plan; you can read on meanwhile.',
  askPublisher: 'Ask the publisher how to update your card; you can read on meanwhile.',
  renew: 'Renew',
  see: 'See subscriptions',
};

/** Pages that readers give away. */
import { day } from './language.ts';

export const timesOf = (count: number) => (count === 1 ? 'once' : `${count} times`);

export const GIFTS = {
  give: 'Give this article',
  aboutGiving: 'You get a link. Whoever has it can read this page here, without a subscription.',
  terms: (openings: number, expires: number) =>
    `The link opens this page ${timesOf(openings)}, until ${day(expires, 'UTC')}.`,
  left: (count: number) => `You have ${count} left this month.`,
  makeLink: 'Make the link',
  back: 'Back to the page',
  yourAccount: 'Your account',
  /** Reasons for which a page cannot be given. */
  problems: {
    page: 'This page is open to everybody: send its address instead.',
    right: 'Your subscription does not include this page, so you cannot give it away.',
    month: 'You have given away as many pages as you can this month. Next month there are new ones.',
  },

  ready: 'Your link is ready',
  link: 'Link to send',
  copy: 'Copy the link',
  copied: 'Copied',
  share: 'Share',
  shownOnce: 'It is shown only now. In your account you can take it back at any time.',

  given: 'You were given an article',
  aboutGift: (publisher: string) => `A subscriber of ${publisher} lets you read it. You need no account.`,
  gave: (publisher: string) => `A subscriber of ${publisher} gave you this article.`,
  paste: 'Link that you were given',
  pasteWhole: 'Paste the whole link: it has a part behind “#” that opens the page.',
  readIt: 'Read it',
  seeSubscriptions: 'See subscriptions',
} as const;

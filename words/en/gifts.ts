/** Words about pages that readers give away. */
const times = (count: number) => (count === 1 ? 'once' : `${count} times`);

export const GIFT_WORDS = {
  give: {
    title: 'Give this article',
    lead: 'You get a link. Whoever has it can read this page here, without a subscription.',
    terms: (openings: number, until: string) => `The link opens this page ${times(openings)}, until ${until}.`,
    left: (count: number) => (count === 1 ? 'You have 1 left this month.' : `You have ${count} left this month.`),
    button: 'Make the link',
    back: 'Back to the page',
    problems: {
      page: 'This page is open to everybody: send its address instead.',
      right: 'Your subscription does not include this page, so you cannot give it away.',
      month: 'You have given away as many pages as you can this month. Next month there are new ones.',
    },
  },
  made: {
    title: 'Your link is ready',
    label: 'Link to send',
    copy: 'Copy the link',
    copied: 'Copied',
    share: 'Share',
    once: 'It is shown only now. In your account you can take it back at any time.',
    account: 'Your account',
  },
  open: {
    title: 'You were given an article',
    lead: (site: string) => `A subscriber of ${site} lets you read it. You need no account.`,
    paste: 'Link that you were given',
    hint: 'Paste the whole link: it has a part behind “#” that opens the page.',
    button: 'Read it',
    subscribe: 'See subscriptions',
  },
  account: {
    title: 'Pages that you gave away',
    state: (openings: number, until: string) =>
      openings === 0 ? `used up, until ${until}` : `opens ${times(openings)} more, until ${until}`,
    button: 'Take back',
    name: (page: string) => `Take back: ${page}`,
    note: 'A link that you take back opens nothing from then on, also where it was opened before.',
  },
} as const;

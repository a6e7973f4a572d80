/** What the Reader's own pages say, and what stands around every page. Those about documents that cannot be shown are in texts.ts. */

export const FRAME_TEXT = {
  brand: 'wispr Reader',
  skip: 'Skip to the content',
  advice: 'What you can do',
  code: 'Code',
  publicLink: 'Public link',
  publicLinkHint: 'Select and copy it, to send it to others or to open it elsewhere.',
  places: [
    ['home', '/', 'Your sites'],
    ['connect', '/connect', 'Connect'],
    ['settings', '/settings', 'Settings'],
  ],
} as const;

/** Where one of the Reader's own pages cannot be shown. */
export const OWN_PAGE_TEXT = { back: { text: 'To your sites', url: '/' } } as const;

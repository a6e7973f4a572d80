/** The reading site's other pages: those on the way to a document, and refusals that readers alone do not have. */

export const READING_SITE = {
  unnamed: 'Reading site',
  /** `<a>` leads to a program on the same computer. */
  openInReader: '<a>Open in the wispr Reader app</a>, if you have it on this computer.',

  oneMoment: 'One moment',
  opensByItself: 'The page opens by itself; without scripts, press the button.',
  goOn: 'Go on',
  signingOut: 'Signing out',
  oneStepLeft: 'One step is left: what was read and kept in this browser goes too.',
  signOutOf: (publisher: string) => `Sign out of ${publisher}`,

  fetchingKeys: (publisher: string) => `Fetching your keys for ${publisher}. The page opens by itself.`,
  noScripts: 'This browser runs no scripts. <a>Read without them</a>.',
  tryAgain: 'Try again',
  yourAccount: 'Your account',

  opening: 'Opening the page …',
  notOpened: 'This page could not be opened here',
  withoutReader: 'Read without the in-browser reader',
  withoutScripts: 'Read without scripts',

  mail: 'Mail',
  noMoreMail: 'No more invitations by mail',
  askNoMoreMail: 'No more invitations by mail?',
  ownMail: 'Codes and links that you ask for yourself still come.',
  endMail: 'No more invitations',

  /** Texts by error code. */
  refused: {
    'not-signed-in': { title: 'Please sign in', lead: 'This page is for subscribers.' },
    'no-provider': {
      title: 'Nothing to read here yet',
      lead: 'No publisher uses this reading site so far.',
    },
    'cross-site': {
      title: 'This form came from elsewhere',
      lead: 'Another website tried to send it in your name, or your browser hides where forms come from. Open the page again, and send it from there.',
    },
    'entry-refused': {
      title: 'Signing in was not completed',
      lead: 'It took too long, was sent twice, or this browser keeps no cookies.',
    },
    'gift-refused': {
      title: 'This link no longer opens the page',
      lead: 'It was opened as often as it could be, it is too old, it was not copied whole, or the person who gave it took it back. Ask them for a new one.',
    },
    'too-many-requests': {
      title: 'Too many requests',
      lead: 'Wait a minute, then try again; after failed attempts to sign in, a quarter of an hour.',
    },
    busy: {
      title: 'Too many people at once',
      lead: 'Very many people are signing in at this moment. Nothing was sent. Try again in a minute.',
    },
    'method-not-allowed': {
      title: 'Pages here can only be read',
      lead: 'Nothing can be sent to them. Open the page instead.',
    },
    'misdirected-request': {
      title: 'Wrong address',
      lead: 'This reading site has another one. Use the address that the publisher gave you.',
    },
    'foreign-page': {
      title: 'Only pages of this site may use this',
      lead: 'A page of another site tried to load it into itself. Open it by a link or its address.',
    },
    'passkey-refused': {
      title: 'The passkey was not added',
      lead: 'It took more than five minutes, is here already, or there are too many. Try again from your account.',
    },
    'foreign-worker': {
      title: 'Pages of this site install nothing',
      lead: 'A page tried to put a program of its own between you and this site.',
    },
    'bad-request': {
      title: 'The form could not be read',
      lead: 'Open the page again, and send the form from there.',
    },
  },
  unforeseen: {
    title: 'Something went wrong here',
    lead: 'The fault is on this side. Try again in a few minutes.',
  },
};

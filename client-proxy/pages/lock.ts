/** Locking the Reader, and the page that a locked one shows in place of all that needs its keys. */
import type { PageAnswer, PageRequest, PagesContext } from './context.ts';
import { type FormField, type PageAlert, type PageForm, renderPage } from './template.ts';
import { alertFor, type ProblemText } from './texts.ts';

const TARGET_LENGTH = 4096;

const LOCKED_TEXT = {
  title: 'The Reader is locked',
  lead: 'It can’t open your sites until you unlock it. Other sites still work.',
  passphrase: 'Passphrase',
  passphraseHint: 'The one that protects your keys. It stays on this computer.',
  submit: 'Unlock',
} as const;

/** After everything was forgotten that a passphrase protected. */
const ANEW_TEXT = {
  title: 'No site is connected yet',
  lead: 'Everything was forgotten. Choose a passphrase that will protect your new keys on this computer. Then you can connect.',
  passphrase: 'New passphrase',
  passphraseHint:
    'At least 8 characters; four or five unrelated words are good. It stays on this computer, and cannot be recovered.',
  submit: 'Continue',
} as const;

const ON_COMMAND_LINE = 'Without one, start the Reader on the command line: it says how to go on.';
/** Why a Reader stays locked, by code, where it is not for a reason that the pages of documents have too. */
const PROBLEMS: Readonly<Record<string, ProblemText>> = {
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

/** The button. */
export function lockForm({ token }: PagesContext): PageForm {
  return { action: '/lock', token, fields: [], submit: 'Lock now' };
}

export async function lock(context: PagesContext): Promise<PageAnswer> {
  await context.lock.lock();
  return { goTo: '/' };
}

/** A link to a document comes to it once the Reader is unlocked. */
export async function showLocked(context: PagesContext, { target }: PageRequest): Promise<PageAnswer> {
  return { html: renderLocked(context, wayOn(target)) };
}

/** The passphrase goes from the form to the key of the database, and nowhere else: not back into the page either. */
export async function unlock(context: PagesContext, form: URLSearchParams): Promise<PageAnswer> {
  const to = wayOn(form.get('to') ?? '');
  try {
    await context.lock.unlock(context.lock.takesPassphrase ? (form.get('passphrase') ?? '') : undefined);
  } catch (error) {
    const alert = alertFor(error, PROBLEMS);
    return { html: renderLocked(context, to, alert), status: alert.code === 'too-many-requests' ? 429 : 422 };
  }
  return { goTo: to ?? '/?done=unlocked' };
}

function renderLocked({ token, lock }: PagesContext, to?: string, alert?: PageAlert): string {
  const { takesPassphrase, needsNewPassphrase } = lock;
  const text = needsNewPassphrase ? ANEW_TEXT : LOCKED_TEXT;
  const fields: FormField[] = [];
  // Browsers are not asked to keep it: they would fill it in for whatever program has this port another day.
  if (takesPassphrase)
    fields.push({
      kind: 'password',
      name: 'passphrase',
      label: text.passphrase,
      hint: text.passphraseHint,
      required: true,
      focus: alert === undefined,
    });
  if (to !== undefined) fields.push({ kind: 'hidden', name: 'to', value: to });
  return renderPage({
    title: text.title,
    lead: text.lead,
    place: 'home',
    alert,
    note: takesPassphrase ? undefined : 'No passphrase is needed: this computer has the key.',
    form: { action: '/unlock', token, fields, submit: text.submit },
  });
}

/** Only the page that links from elsewhere lead to is worth coming back to, and nothing else is believed. */
function wayOn(target: string): string | undefined {
  return /^\/connect\?[!-~]+$/.test(target) && target.length <= TARGET_LENGTH ? target : undefined;
}

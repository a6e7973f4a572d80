/** Locking the Reader, and the page that a locked one shows in place of all that needs its keys. */
import { ANEW, HOME, LOCKED, NO_PASSPHRASE } from '../../words/en/reader.ts';
import { STILL_LOCKED } from '../../words/en/reader-refusals.ts';
import type { PageAnswer, PageRequest, PagesContext } from './context.ts';
import { type FormField, type PageAlert, type PageForm, renderPage } from './template.ts';
import { alertFor } from './texts.ts';

const TARGET_LENGTH = 4096;

/** The button. */
export function lockForm({ token }: PagesContext): PageForm {
  return { action: '/lock', token, fields: [], submit: HOME.lock };
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
    const alert = alertFor(error, STILL_LOCKED);
    return { html: renderLocked(context, to, alert), status: alert.code === 'too-many-requests' ? 429 : 422 };
  }
  return { goTo: to ?? '/?done=unlocked' };
}

function renderLocked({ token, lock }: PagesContext, to?: string, alert?: PageAlert): string {
  const { takesPassphrase, needsNewPassphrase } = lock;
  const text = needsNewPassphrase ? ANEW : LOCKED;
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
    note: takesPassphrase ? undefined : NO_PASSPHRASE,
    form: { action: '/unlock', token, fields, submit: text.submit },
  });
}

/** Returns the page to come back to: only the one that links from elsewhere lead to, and nothing else is believed. */
function wayOn(target: string): string | undefined {
  return /^\/connect\?[!-~]+$/.test(target) && target.length <= TARGET_LENGTH ? target : undefined;
}

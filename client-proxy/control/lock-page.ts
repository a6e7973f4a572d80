/** Locking the Reader, and the page that a locked one shows in place of all that needs its keys. */
import { CodedError } from '../../core/errors.ts';
import type { FormField, PageForm } from '../pages/form.ts';
import { refusalPage } from '../pages/refusal.ts';
import { type PageAlert, renderPage } from '../pages/template.ts';
import { ANEW_TEXT, HOME_TEXT, LOCKED_TEXT, unlockProblemText } from '../pages/texts-control.ts';
import type { ControlAnswer } from './answer.ts';
import type { ControlContext } from './context.ts';
import type { Asked } from './control-pages.ts';

const TARGET_LENGTH = 4096;

/** The button. */
export function lockForm({ token }: ControlContext): PageForm {
  return { action: '/lock', token, fields: [], submit: HOME_TEXT.lockNow };
}

export async function lock(context: ControlContext): Promise<ControlAnswer> {
  await context.lock.lock();
  return { goTo: '/' };
}

/** A link to a document comes to it once the Reader is unlocked. */
export async function showLocked(context: ControlContext, { target }: Asked): Promise<ControlAnswer> {
  return lostPage(context) ?? { html: renderLocked(context, wayOn(target)) };
}

/** The passphrase goes from the form to the key of the database, and nowhere else: not back into the page either. */
export async function unlock(context: ControlContext, form: URLSearchParams): Promise<ControlAnswer> {
  const to = wayOn(form.get('to') ?? '');
  try {
    await context.lock.unlock(context.lock.takesPassphrase ? (form.get('passphrase') ?? '') : undefined);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    const lost = lostPage(context);
    if (lost) return lost;
    const alert = { ...unlockProblemText(error.code), code: error.code };
    return { html: renderLocked(context, to, alert), status: error.code === 'unlock-too-often' ? 429 : 422 };
  }
  return { goTo: to ?? '/?done=unlocked' };
}

/** Of a Reader that no passphrase and no button unlocks: it is asked for none. */
function lostPage({ lock: { lost } }: ControlContext): ControlAnswer | undefined {
  if (lost === undefined) return undefined;
  const { status, page } = refusalPage(lost);
  return { html: renderPage({ ...page, place: 'home' }), status };
}

function renderLocked({ token, lock }: ControlContext, to?: string, alert?: PageAlert): string {
  const { takesPassphrase, needsNewPassphrase } = lock;
  const text = needsNewPassphrase ? ANEW_TEXT : LOCKED_TEXT;
  const fields: FormField[] = [
    ...(takesPassphrase ? [passphraseField(text, alert === undefined)] : []),
    ...(to === undefined ? [] : [{ kind: 'hidden', name: 'to', value: to } as const]),
  ];
  return renderPage({
    title: text.title,
    lead: text.lead,
    place: 'home',
    alert,
    ...(!takesPassphrase && { note: LOCKED_TEXT.noPassphrase }),
    form: { action: '/unlock', token, fields, submit: text.submit },
  });
}

/** Browsers are not asked to keep it: they would fill it in for whatever program has this port another day. */
function passphraseField(text: typeof ANEW_TEXT | typeof LOCKED_TEXT, focus: boolean): FormField {
  return {
    kind: 'password',
    name: 'passphrase',
    label: text.passphrase,
    hint: text.passphraseHint,
    required: true,
    focus,
  };
}

/** Only the page that links from elsewhere lead to is worth coming back to, and nothing else is believed. */
function wayOn(target: string): string | undefined {
  return /^\/connect\?[!-~]+$/.test(target) && target.length <= TARGET_LENGTH ? target : undefined;
}

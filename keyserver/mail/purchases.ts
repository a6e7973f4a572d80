/** Mail about what is bought elsewhere: the link to read, and a payment that has failed. */
import { ACCOUNT_PAGE } from '../../core/site/path.ts';
import type { Origins } from '../publication/import-bundle.ts';
import { createCode, invitationLink } from '../readers/invitations.ts';
import type { KeyServerState } from '../storage/state.ts';
import { isMailAddress } from './address.ts';
import { siteNames } from './invitation.ts';
import type { Mailer } from './mailer.ts';

/** Seconds for which the link works. */
const LINK_LIFETIME = 7 * 86_400;

interface Sender {
  readonly state: KeyServerState;
  readonly mailer: Mailer | undefined;
  readonly origins: Origins;
}

/** Mails whoever has bought the link that signs in, and leads to the document. It goes to the name alone, so that it signs nobody else in. */
export async function mailBought(
  { state, mailer, origins }: Sender,
  { id, name, to }: { readonly id: number; readonly name: string; readonly to: string },
): Promise<void> {
  if (!mailer || !isMailAddress(name)) return;
  const { root, ...names } = await siteNames({ state, origins });
  const code = await createCode(state.database, id, state.now() + LINK_LIFETIME);
  const link = invitationLink({ code }, origins.reading, root, { mail: '1', ...(to !== '/' && { to }) });
  mailer.sendLater(name, 'bought', { ...names, name, link });
}

/** Mails that a payment has failed. */
export async function mailPaymentFailed({ state, mailer, origins }: Sender, name: string): Promise<void> {
  if (!mailer || !isMailAddress(name)) return;
  const { root: _, ...names } = await siteNames({ state, origins });
  mailer.sendLater(name, 'payment-failed', { ...names, name, link: origins.reading + ACCOUNT_PAGE });
}

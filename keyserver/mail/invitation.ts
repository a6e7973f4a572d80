/** Invitations by mail. */
import { normaliseCode } from '../../core/keys/binding.ts';
import type { Origins } from '../publication/import-bundle.ts';
import { ProviderReader, siteReadAt } from '../publication/provider.ts';
import { hashOfCode, type Invitation } from '../readers/invitations.ts';
import type { KeyServerState } from '../storage/state.ts';
import { requireMailAddress } from './address.ts';
import { mailedLink } from './link.ts';
import type { Mailer } from './mailer.ts';

interface Sender {
  readonly state: KeyServerState;
  readonly mailer: Mailer;
  readonly origins: Origins;
}

/**
 * Invites, and mails the link. An invitation whose mail is not taken is void.
 *
 * @param make - makes the invitation
 * @throws KeyServerError `argument-invalid` where the name is no address, before anything is made; `mail-failed`
 */
export async function mailInvitation<Made extends Pick<Invitation, 'code' | 'expires'>>(
  { state, mailer, origins }: Sender,
  name: string,
  make: () => Promise<Made>,
): Promise<Made & { readonly link: string }> {
  requireMailAddress(name);
  const known = await new ProviderReader(state.database).read();
  const site = (known && siteReadAt(known.descriptor, origins.reading)?.site) ?? new URL(origins.reading).host;
  const made = await make();
  const link = mailedLink(origins.reading, made.code, known?.publisher);
  const until = new Date(made.expires * 1000).toISOString().slice(0, 10);
  try {
    await mailer.send(name, 'invitation', { publisher: known?.descriptor.name ?? site, site, name, link, until });
  } catch (error) {
    const hash = hashOfCode(normaliseCode(made.code) ?? '');
    await state.database.run('DELETE FROM invitations WHERE code_hash = ?', hash);
    throw error;
  }
  return { ...made, link };
}

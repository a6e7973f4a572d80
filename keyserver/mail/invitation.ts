/** Invitations by mail. */
import { normaliseCode } from '../../core/keys/binding.ts';
import { accentOf } from '../../core/site/accent.ts';
import { day } from '../../words/en/language.ts';
import type { MailFields } from '../../words/en/mails.ts';
import type { Origins } from '../publication/import-bundle.ts';
import { ProviderReader, siteReadAt } from '../publication/provider.ts';
import { hashOfCode, invitationLink, type NewCode } from '../readers/invitations.ts';
import type { KeyServerState } from '../storage/state.ts';
import { requireMailAddress } from './address.ts';
import type { Mailer } from './mailer.ts';

export interface Sender {
  readonly state: KeyServerState;
  readonly mailer: Mailer;
  readonly origins: Origins;
}

export type FieldsOf = (name: string, invitation: NewCode) => MailFields;

/** Finds what mails call the publisher and the site that is read here, and the publisher's root. */
export async function siteNames({ state, origins }: Omit<Sender, 'mailer'>) {
  const known = await new ProviderReader(state.database).read();
  const site = (known && siteReadAt(known.descriptor, origins.reading)?.site) ?? new URL(origins.reading).host;
  const accent = accentOf(known?.settings?.accent).light;
  return { publisher: known?.descriptor.name ?? site, site, accent, root: known?.publisher };
}

/** @returns what the template of an invitation is given */
export async function invitationFields(sender: Omit<Sender, 'mailer'>): Promise<FieldsOf> {
  const { root, ...names } = await siteNames(sender);
  return (name, { code, expires }) => ({
    ...names,
    name,
    link: invitationLink({ code }, sender.origins.reading, root, { mail: '1' }),
    until: day(expires, 'UTC'),
  });
}

/**
 * Invites, and mails the link. An invitation whose mail is not taken is void.
 *
 * @param make - makes the invitation
 * @throws KeyServerError `name-refused` where the name is no address, before anything is made; `mail-failed`, `mail-refused`
 */
export async function mailInvitation<Made extends NewCode>(
  sender: Sender,
  name: string,
  make: () => Promise<Made>,
): Promise<Made> {
  requireMailAddress(name);
  const fieldsOf = await invitationFields(sender);
  const made = await make();
  try {
    await sender.mailer.send(name, 'invitation', fieldsOf(name, made));
  } catch (error) {
    const hash = hashOfCode(normaliseCode(made.code) ?? '');
    await sender.state.database.run('DELETE FROM invitations WHERE code_hash = ?', hash);
    throw error;
  }
  return made;
}

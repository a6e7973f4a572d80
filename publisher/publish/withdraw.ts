/** `wispr withdraw`: a closing publication, above everything seen. Readers are shown nothing until a higher one. */
import { closingSnapshotMetadata, ROLE_VALIDITY } from '../../core/publication/writer.ts';
import { PublishError } from '../errors.ts';
import { areKeysBehind } from '../protect/published.ts';
import { missing, type SignedSnapshot } from '../publication/signed.ts';
import { bringTo, type Confirmation } from './confirm.ts';
import { claim, confirmed } from './elsewhere.ts';
import { findCurrent, findHighest } from './highest.ts';
import { rememberClosing } from './remembered.ts';
import { claimVersion, type Site, signSnapshot } from './site.ts';

export type Withdrawal =
  | ({ readonly outcome: 'withdrawn' | 'already withdrawn' } & Confirmation)
  /** A higher publication has taken the place of the one that was to be withdrawn. */
  | { readonly outcome: 'replaced'; readonly publication: number };

/**
 * Withdraws the current publication. The authority comes first and waits for no target; then all targets at once, ten seconds each. Repeating the
 * command brings the closing publication to targets that lack it, and signs nothing anew.
 *
 * @param version - the publication to withdraw. Default: the current one
 * @throws PublishError `argument-invalid`, `publication-missing`, `key-server-refused`, `store-busy`
 */
export async function withdrawSite(site: Site, version?: number): Promise<Withdrawal> {
  const current = await currentOf(site);
  const number = current.file.version;
  if (version !== undefined && version > number)
    throw new PublishError('argument-invalid', `there is no publication ${version}; the current one is ${number}`, {
      typed: true,
      fields: { version, current: number },
    });
  const { closed } = current.snapshot;
  if (version !== undefined && version < number && !closed) return { outcome: 'replaced', publication: number };
  const snapshot = closed ? current : await close(site, current);
  const timestamp = await site.authority.confirm(snapshot);
  if (!closed) confirmed(site, snapshot);
  const expires = [{ role: 'snapshot', version: snapshot.file.version, expires: snapshot.snapshot.expires }];
  const everywhere = { reachable: site.targets, failures: [] };
  const confirmation = await bringTo(site, everywhere, timestamp, snapshot, expires);
  rememberClosing(site, confirmation.targets, current, snapshot);
  return { outcome: closed ? 'already withdrawn' : 'withdrawn', ...confirmation };
}

/** Finds it by the authority, in `out` and at the key server; at the targets only where those know nothing. */
async function currentOf(site: Site): Promise<SignedSnapshot> {
  const current = await findCurrent(site);
  if (current) return current;
  const highest = await findHighest(site);
  const found = highest.current ?? highest.snapshot;
  if (found === undefined) throw missing(site.out);
  return found;
}

/** Puts the snapshot into `out` before the authority names it: a run that is killed in between can be repeated. */
async function close(site: Site, current: SignedSnapshot): Promise<SignedSnapshot> {
  // The key store of a copy that is behind stays so.
  const isBehind = areKeysBehind(site.index, site.store.contents.publication, current);
  const version = isBehind ? current.file.version + 1 : await claimVersion(site, current.file.version);
  const about = { version, expires: site.now() + ROLE_VALIDITY.snapshot };
  const closing = await signSnapshot(site, closingSnapshotMetadata(about, current.snapshot.roles));
  claim(site, closing);
  return closing;
}

/**
 * Opens invitations on a site without a key server, `/-/open.html`: gets the set keys out of the invitation's key file, installs the worker, and goes
 * to the page that is wanted. The worker leads here whenever a key is missing or has ended; then nothing has to be typed.
 */
import type { DocumentKeys } from '../../core/keys/document-keys.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { ROOT_WORKER } from '../../core/site/path.ts';
import { atMost } from '../../reading/at-most.ts';
import * as words from '../../words/en/browser.ts';
import { installWorker } from '../install-worker.ts';
import { fetchKeys, isStoredInvitation, type StoredInvitation, storeKeys } from '../key-file.ts';
import { loadScript } from '../load-script.ts';
import { type OriginStore, openStore, STATE } from '../store.ts';
import { deriveInvitation, type Fragment, parseFragment, type Stretch } from './invitation.ts';
import { ask, drawn, refuse, showOpening } from './page.ts';

/** The longest wait for a worker that is installed, also on a slow line. In milliseconds. */
const PATIENCE = 45_000;

const { href, hash, origin } = location;
const { root = '', site = '', passwordScript = '', passwordIntegrity = '' } = document.documentElement.dataset;
const context = { root, site };
const fragment = parseFragment(hash, origin);

/** An invitation, and the question to ask where its key file is missing. */
interface InvitationAttempt {
  readonly invitation: StoredInvitation;
  readonly askAgain: () => Promise<InvitationAttempt>;
}

async function start(): Promise<void> {
  if (!isSecureContext || !('serviceWorker' in navigator)) return cannot(); // the address stays whole, for "open in another browser"
  history.replaceState(null, '', location.pathname); // the secret stays in no history of the window
  const store = await openStore().catch(() => undefined);
  if (store === undefined) return cannot();
  await open(store, await invitationFrom(store, fragment));
}

async function open(store: OriginStore, { invitation, askAgain }: InvitationAttempt): Promise<void> {
  showOpening();
  try {
    const keys = await fetchKeys(invitation, context);
    if (keys === undefined) return open(store, await askAgain());
    if (await isToKeep(store, invitation, keys)) await store.state.put(STATE.invitation, invitation);
    await storeKeys(store, keys, fragment.sets);
    const installing = installWorker(ROOT_WORKER);
    if (await atMost(PATIENCE, installing)) throw new TypeError('the worker does not start');
    await installing; // throws if it has failed
    location.replace(fragment.to);
  } catch (error) {
    console.error(error);
    const sentence = error instanceof KeyError ? words.changed : words.notOpened;
    refuse(sentence, words.tryAgain, () => open(store, { invitation, askAgain }));
  }
}

/** The invitation of the address; where it has none, that which this browser keeps. */
async function invitationFrom(
  store: OriginStore,
  { invitation }: Pick<Fragment, 'invitation'>,
): Promise<InvitationAttempt> {
  if (invitation === undefined) {
    const kept = await store.state.get(STATE.invitation);
    return isStoredInvitation(kept)
      ? { invitation: kept, askAgain: () => invitationByLink(store, words.ended) }
      : invitationByLink(store);
  }
  if (invitation === 'broken') return invitationByLink(store, words.ended);
  if ('salt' in invitation) return invitationByPassword(invitation.salt);
  return {
    invitation: await deriveInvitation(invitation.secret, context),
    askAgain: () => invitationByLink(store, words.ended),
  };
}

async function invitationByLink(store: OriginStore, problem?: string): Promise<InvitationAttempt> {
  const pasted = parseFragment(/#.*/s.exec(await ask('link', problem))?.[0] ?? '', origin);
  return invitationFrom(store, { invitation: pasted.invitation ?? 'broken' });
}

async function invitationByPassword(salt: Uint8Array, problem?: string): Promise<InvitationAttempt> {
  const password = await ask('password', problem);
  showOpening();
  const stretch = await loadStretch();
  await drawn();
  const invitation = await deriveInvitation(stretch(password, salt), context);
  return { invitation, askAgain: () => invitationByPassword(salt, words.wrongPassword) };
}

/** Loads Argon2id only where it is needed. @throws TypeError */
async function loadStretch(): Promise<Stretch> {
  const found = () => (globalThis as { wisprStretch?: Stretch }).wisprStretch;
  if (found() === undefined) await loadScript({ src: passwordScript, integrity: passwordIntegrity });
  return found() as Stretch;
}

/** Tells whether to keep an invitation: another's link that gives nothing new does not take the place of a good one. */
async function isToKeep(store: OriginStore, { name }: StoredInvitation, { keys }: DocumentKeys): Promise<boolean> {
  const kept = await store.state.get(STATE.invitation);
  if (!isStoredInvitation(kept) || kept.name === name) return true;
  const known = await Promise.all(keys.map(({ id }) => store.keys.find(id)));
  return known.includes(undefined) || (await fetchKeys(kept, context).catch(() => undefined)) === undefined;
}

/** Windows inside other programs often have no workers either. */
function cannot(): void {
  refuse(words.cannotRead, words.copyLink, () => navigator.clipboard?.writeText(href));
}

start().catch((error: unknown) => {
  console.error(error);
  refuse(words.notOpened, words.tryAgain, () => location.replace(href));
});

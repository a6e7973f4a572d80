/**
 * Known browsers: what a browser keeps after its reader has signed in, so that failures of others do not keep it from signing in again. It
 * gives the right to try, and nothing else. After the "device cookies" of OWASP
 * (https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies).
 *
 *   mark = base64url(expires: u32 || nonce (16) || MAC (32))
 *   MAC  = HMAC-SHA-256(the secret "known-browsers" (secrets.ts), lp(subscriber) || lp(password hash) || lp(expires || nonce))
 */
import { equalSecrets, hmacSha256, randomBytes } from '#primitives';
import { fromBase64url, toBase64url } from '../../core/encoding/base64url.ts';
import { concat, lengthPrefixed, readU32, u32, utf8 } from '../../core/encoding/bytes.ts';
import { readSecret } from '../storage/secrets.ts';
import type { KeyServerState } from '../storage/state.ts';
import { findSubscriber } from '../subscriptions/subscribers.ts';
import { type Account, findAccount } from './accounts.ts';

/** Seconds for which a browser is known. */
export const KNOWN_BROWSER_LIFETIME = 365 * 86_400;
const NONCE_LENGTH = 16;
const HEAD_LENGTH = 4 + NONCE_LENGTH;
const MAC_LENGTH = 32;
/** Id that no subscriber has, so that no browser has a mark for it. */
const NO_SUBSCRIBER = -1;

/** Makes a new mark for a browser in which a subscriber has signed in. */
export async function markKnownBrowser(state: KeyServerState, subscriber: number): Promise<string> {
  const account = await accountOf(state, subscriber);
  const head = concat(u32(state.now() + KNOWN_BROWSER_LIFETIME), randomBytes(NONCE_LENGTH));
  return toBase64url(concat(head, await macOf(state, account, head)));
}

/**
 * Checks that a mark was made for the subscriber of this name, with the password that counts now, and not too long ago.
 *
 * @returns by what the attempts of this browser are counted; `undefined` if it is not known
 */
export async function findKnownBrowser(state: KeyServerState, name: string, mark: string): Promise<string | undefined> {
  const bytes = fromBase64url(mark, HEAD_LENGTH + MAC_LENGTH);
  if (!bytes) return undefined;
  const head = bytes.subarray(0, HEAD_LENGTH);
  const account = await accountOf(state, (await findSubscriber(state.database, name))?.id);
  const known = equalSecrets(bytes.subarray(HEAD_LENGTH), await macOf(state, account, head));
  return known && readU32(head) >= state.now() ? toBase64url(head) : undefined;
}

async function macOf(state: KeyServerState, { subscriber, password }: Account, head: Uint8Array): Promise<Uint8Array> {
  const key = await readSecret(state, 'known-browsers');
  return hmacSha256(key, lengthPrefixed(utf8(String(subscriber)), utf8(password), head));
}

/** Finds an account; whoever signs in by mail has no password, and marks that last until there is one. */
async function accountOf({ database }: KeyServerState, subscriber: number = NO_SUBSCRIBER): Promise<Account> {
  return (await findAccount(database, subscriber)) ?? { subscriber, password: '' };
}

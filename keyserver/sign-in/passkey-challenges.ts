/** One-time challenges of passkey ceremonies. Only their digests are stored, so any process can finish what another one began. */
import { randomBytes } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { digest } from '../storage/digest.ts';
import type { KeyServerState } from '../storage/state.ts';

type State = Pick<KeyServerState, 'database' | 'now'>;

/** Seconds in which a ceremony has to end. */
export const CHALLENGE_LIFETIME = 300;
const LENGTH = 32;

/** @param purpose - the ceremony and who it is for: the challenge is good for nothing else */
export async function createChallenge({ database, now }: State, purpose: string): Promise<Uint8Array<ArrayBuffer>> {
  const challenge = Uint8Array.from(randomBytes(LENGTH));
  await database.run('DELETE FROM passkey_challenges WHERE expires < ?', now());
  const sql = 'INSERT INTO passkey_challenges (challenge_hash, expires) VALUES (?, ?)';
  await database.run(sql, hashOf(purpose, toBase64url(challenge)), now() + CHALLENGE_LIFETIME);
  return challenge;
}

/** Uses a challenge up. @returns whether it was made for this purpose, not long ago, and not used before */
export async function useChallenge({ database, now }: State, purpose: string, text: string): Promise<boolean> {
  const sql = 'DELETE FROM passkey_challenges WHERE challenge_hash = ? RETURNING expires';
  const taken = await database.first<{ expires: number }>(sql, hashOf(purpose, text));
  return taken !== undefined && taken.expires >= now();
}

function hashOf(purpose: string, challenge: string): Uint8Array {
  return digest('passkey challenge', purpose, challenge);
}

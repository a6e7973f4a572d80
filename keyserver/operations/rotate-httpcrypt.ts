/** Changes the key of the HTTPCrypt endpoint: its process reads the new one when it starts. */
import { audit } from '../storage/audit.ts';
import { renewSecret } from '../storage/secrets.ts';
import type { KeyServerState } from '../storage/state.ts';

export async function rotateHttpcrypt(state: KeyServerState): Promise<void> {
  await state.database.transaction(async () => {
    await renewSecret(state, 'httpcrypt');
    await audit(state, 'rotate', 'httpcrypt');
  });
}

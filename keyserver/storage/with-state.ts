/** The state of a key server for commands beside it. */
import { isDiskFull } from '../../node-support/disk-full.ts';
import { userName } from '../../node-support/user-name.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError } from '../errors.ts';
import { chainAudit } from './audit.ts';
import { type KeyServerState, openExisting, storeOf } from './state.ts';

/** Names the actor for the audit trail: the user of the operating system who runs this command. */
export function commandActor(): string {
  return `command ${userName() ?? process.getuid?.()}`;
}

/**
 * Opens the state for a command beside the server, does `work`, and closes it.
 *
 * @throws KeyServerError as `openState`; `store-unusable` where the key server was never started
 */
export async function withState<Result>(
  config: KeyServerConfig,
  work: (state: KeyServerState) => Promise<Result>,
): Promise<Result> {
  const store = await storeOf(config);
  if ((await store.occupancy()) !== 'filled') {
    throw new KeyServerError('store-unusable', `there is no database at ${store.name} yet`);
  }
  const state = await openExisting(config, store);
  try {
    const result = await work({ ...state, actor: commandActor() });
    await chainAudit(state.database).catch((error: unknown) => {
      if (!isDiskFull(error)) throw error; // a later command, or the key server, does it: what was made here has to be told
    });
    return result;
  } catch (error) {
    throw store.explain(error);
  } finally {
    await state.database.close();
  }
}

/** Plans that the publisher signs for strangers to see, in the settings of the last bundle. */
import type { OpenedBundle } from '../../core/keys/bundle.ts';
import { SET_PATTERN } from '../../core/keys/set-pattern.ts';
import { isTimeZone } from '../../core/keys/set-time.ts';
import type { OfferedPlan } from '../../core/publication/offers.ts';
import { parseSettings } from '../../core/publication/settings.ts';
import { audit } from '../storage/audit.ts';
import type { Database } from '../storage/database.ts';
import type { KeyServerState } from '../storage/state.ts';
import { readProviderRow } from './provider.ts';

/** Reads them, in the order of showing. */
export async function readOffers(database: Database): Promise<readonly OfferedPlan[]> {
  const settings = (await readProviderRow(database))?.settings;
  return (settings && parseSettings(settings).plans) ?? [];
}

/**
 * Makes the plans that are not here yet, with the sets and the time zone of their periods, within the transaction that has stored the bundle.
 * Others stay as they are: they may have been changed here.
 */
export async function makeSignedPlans(
  state: KeyServerState,
  { periods = [] }: Pick<OpenedBundle, 'periods'>,
): Promise<void> {
  for (const { name, title } of await readOffers(state.database)) {
    const { sets = [], zone = null } = periods.find(({ plan }) => plan === name) ?? {};
    if (sets.length === 0 || !sets.every((each) => SET_PATTERN.test(each)) || (zone && !isTimeZone(zone))) continue;
    const sql = 'INSERT INTO plans (name, title, patterns, zone) VALUES (?, ?, ?, ?) ON CONFLICT (name) DO NOTHING';
    const made = await state.database.run(sql, name, title, sets.join(' '), zone);
    if (made > 0) await audit(state, 'plan', name, { title, sets: [...sets], zone });
  }
}

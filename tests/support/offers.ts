/** Plans that the publisher of a rig offers to strangers: signed in its publication, and in the bundle of the key server. */
import { randomBytes } from '#primitives';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import type { BundledPeriod } from '../../core/keys/bundle.ts';
import { periodAt } from '../../core/keys/set-time.ts';
import type { OfferedPlan } from '../../core/publication/offers.ts';
import { encodeSettings, type SiteSettings } from '../../core/publication/settings.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import type { Rig } from './keyserver-rig.ts';
import { SITE, sealBundle } from './publisher-with-sets.ts';
import { signOnto } from './signed-publication.ts';
import { TEST_SETTINGS } from './test-publication.ts';

let serial = 2;

/** @param sets - patterns of each plan, by its name; `day-*` if left out @param more - of the settings */
export async function offerPlans(
  { server, publisher, host }: Pick<Rig, 'host' | 'publisher' | 'server'>,
  plans: readonly OfferedPlan[],
  sets: Readonly<Record<string, readonly string[]>> = {},
  more: Partial<SiteSettings> = {},
): Promise<void> {
  const settings = { ...TEST_SETTINGS, ...more, ...(plans.length > 0 && { plans }) };
  publisher.publication.setSettings(settings);
  await signOnto(publisher.publication, host.files);
  const now = server.state.now();
  const periods = await Promise.all(plans.map(({ name }) => periodOf(name, sets[name] ?? ['day-*'], now)));
  const origins = { keyServer: server.url, reading: server.readingUrl, content: host.origin };
  const bundle = { periods, settings: toBase64url(encodeSettings(settings)) };
  const bytes = await sealBundle(publisher, server.state.recipient.publicKey, { ...origins, serial: serial++, bundle });
  await importBundle(server.state, bytes, server.origins);
  await publisher.afterPublishing();
}

async function periodOf(plan: string, sets: readonly string[], now: number): Promise<BundledPeriod> {
  const key = randomBytes(32);
  const { start, end } = periodAt('month', 'Europe/Berlin', now);
  const named = { id: await keyIdOf('period', key), key: toBase64url(key), plan, sets, site: SITE };
  return { ...named, from: start, until: end - 1, zone: 'Europe/Berlin' };
}

/** Settings of fallback pages, out of a configuration. */
import type { FallbackSettings } from '../../../teaser/fallback-page.ts';
import { writtenPath } from '../../workspace/configuration/content-schema.ts';
import { hrefOf } from '../../workspace/configuration/look-schema.ts';
import { offeredPlans } from '../../workspace/configuration/plan-schema.ts';
import { type Configuration, hasReadingSite, originsOf } from '../../workspace/configuration/schema.ts';

export function fallbackSettingsOf(configuration: Configuration): FallbackSettings {
  const { site, name = site, reading, fallback, accent, logo, subscribe, previews, plans } = configuration;
  return {
    publisher: name,
    site,
    content: originsOf(configuration)[0] ?? `https://${site}`,
    reading,
    ...(!hasReadingSite(configuration) && { serverless: true }),
    language: fallback.language,
    redirect: fallback.redirect,
    plans: offeredPlans(plans),
    accent,
    logo: logo === undefined ? undefined : writtenPath(logo),
    subscribe: subscribe === undefined ? undefined : hrefOf(subscribe),
    previews,
  };
}

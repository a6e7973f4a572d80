/** The site settings that are published, out of a configuration: docs/spec/publication.md section 5. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { documentPathOf, urlPathOf } from '../../core/site/path.ts';
import { printable } from '../../node-support/printable.ts';
import { programOf } from '../../node-support/web-reader-files.ts';
import { PublishError } from '../errors.ts';
import { someOf } from '../text.ts';
import { builtWebReader } from '../web-reader.ts';
import { destinationOf, SECONDS_PER_DAY, writtenPath } from '../workspace/configuration/content-schema.ts';
import { hrefOf } from '../workspace/configuration/look-schema.ts';
import { offeredPlans } from '../workspace/configuration/plan-schema.ts';
import { type Configuration, hasReadingSite } from '../workspace/configuration/schema.ts';
import { isPicture, mediaTypeOf } from './media-type.ts';
import { problemsOfRedirects } from './redirects.ts';

/** Looks up what the settings need to know of the site: `undefined` where there is no such document. */
export type LookUpDocument = (documentPath: string) => 'public' | 'protected' | undefined;

/** The page that web hosts, too, show for what does not exist. */
const USUAL_NOT_FOUND = '/404.html';

/** @throws PublishError `configuration-invalid`: redirects that never end, or a "not found" page that is not public */
export function siteSettingsOf(configuration: Configuration, lookUp: LookUpDocument): SiteSettings {
  const settings = settingsOf(configuration, lookUp);
  const { loops } = problemsOfRedirects(settings, (path) => lookUp(path) !== undefined);
  const shown = loops.map((path) => printable(urlPathOf(path)));
  const problems = [
    ...(loops.length > 0 ? [`the redirects from ${someOf(shown)} never end`] : []),
    ...problemsOfFiles(configuration, lookUp),
  ];
  if (problems.length === 0) return settings;
  throw new PublishError('configuration-invalid', `${problems.join('; ')}; nothing was written`);
}

/**
 * Returns the settings that are signed: those of the site, with the program of this wispr, which readers' browsers should get. Where there is no
 * reading site, the program lies beside the publication.
 *
 * @param root - root id
 * @throws PublishError `configuration-invalid`, as {@link siteSettingsOf}; `web-reader-missing`, also for a site without a reading site
 */
export function signedSettingsOf(configuration: Configuration, lookUp: LookUpDocument, root: KeyId): SiteSettings {
  const settings = siteSettingsOf(configuration, lookUp);
  const files = builtWebReader();
  if (!hasReadingSite(configuration)) return settings;
  const { reading, site } = configuration;
  return { ...settings, reader: programOf(files, { reading, root, site }) };
}

/** Returns the settings as they stand in the configuration, with whatever is wrong with them. */
export function settingsOf(configuration: Configuration, lookUp: LookUpDocument): SiteSettings {
  const { cleanUrls, fallback, freshness, gifts, redirects, notFound, accent, logo, subscribe, sheet, titles } =
    configuration;
  const plans = offeredPlans(configuration.plans);
  const page = notFound !== undefined ? writtenPath(notFound) : USUAL_NOT_FOUND;
  return {
    cleanUrls,
    grace: freshness.graceDays * SECONDS_PER_DAY,
    ...(freshness.keptAfterGrace && { keptAfterGrace: true }),
    ...(lookUp(page) === 'public' && { notFound: page }),
    redirects: redirects.map(({ from, status, to }) => ({
      from: documentPathOf(from) ?? from, // the configuration's checks have seen to it that there is one
      status,
      to: destinationOf(to),
    })),
    ...(accent !== undefined && { accent }),
    ...(logo !== undefined && { logo: writtenPath(logo) }),
    ...(subscribe !== undefined && { subscribe: hrefOf(subscribe) }),
    ...(!sheet && { sheet: false }),
    ...(titles.length > 0 && { titles }),
    ...(plans.length > 0 && { plans }),
    ...(gifts !== undefined && { gifts }),
    ...(fallback.redirect !== 'readers' && { redirect: fallback.redirect }),
  };
}

/** Checks files that visitors without access load. A page for what does not exist has to be there only if the configuration names it. */
export function problemsOfFiles({ logo, notFound }: Configuration, lookUp: LookUpDocument): string[] {
  return Object.entries({ notFound, logo }).flatMap(([member, written]) => {
    if (written === undefined) return [];
    const path = writtenPath(written);
    const isFit = member !== 'logo' || isPicture(mediaTypeOf(path));
    const why = {
      none: 'which is not there',
      protected: 'which is not public',
      public: isFit ? undefined : 'which is no picture',
    }[lookUp(path) ?? 'none'];
    return why === undefined ? [] : [`"${member}" names ${printable(written)}, ${why}`];
  });
}

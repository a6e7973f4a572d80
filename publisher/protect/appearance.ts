/** The appearance of documents, by the configuration: facts that shape objects, and facts that shape the pages beside them. */
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { barOf } from '../../teaser/bar.ts';
import { BUILT_IN_TEMPLATE } from '../../teaser/built-in.ts';
import { fallbackPageOf } from '../../teaser/fallback-page.ts';
import { fallbackSettingsOf } from '../site/fallback/settings.ts';
import { readFallbackTemplate } from '../site/fallback/template.ts';
import { HeaderRules } from '../site/headers.ts';
import { isPage } from '../site/media-type.ts';
import { PathPatterns } from '../site/patterns.ts';
import type { Configuration } from '../workspace/configuration/schema.ts';
import type { Form } from '../workspace/index/schema.ts';
import { decodeTeaser } from './site-page.ts';

export interface Appearance {
  /** Differs whenever every object has to be made anew. */
  readonly objectFacts: string;
  /** Differs whenever every fallback page has to be made anew. */
  readonly pageFacts: string;
  readonly headers: HeaderRules;
  readonly uncompressed: PathPatterns;
  readonly padding: boolean;
  /** Digest of whatever shapes an object besides its source, its set and its path. */
  readonly optionsOf: (path: string, mediaType: string, form: Form) => string;
  /**
   * Makes the fallback page of a document.
   *
   * @param teaser - as `encodeTeaser` makes it
   * @throws PublishError `configuration-invalid`
   */
  readonly fallbackPage: (path: string, teaser: string | undefined) => string;
}

/** Versions that rise whenever this program makes other objects, teasers or pages out of the same sources. */
const OBJECT_VERSION = 2;
const TEASER_VERSION = 4;
const PAGE_VERSION = 6;

/**
 * @param directory - where the configuration lies
 * @param publisher - key id of the publisher key
 * @throws PublishError `configuration-invalid`
 */
export async function appearanceOf(
  configuration: Configuration,
  directory: string,
  publisher: string,
): Promise<Appearance> {
  const { site, fallback, padding } = configuration;
  const file = fallback.template === undefined ? undefined : resolve(directory, fallback.template);
  const template = await readFallbackTemplate(file);
  const text = file === undefined ? BUILT_IN_TEMPLATE : await readFile(file, 'utf8');
  const settings = fallbackSettingsOf(configuration);
  const headers = new HeaderRules(configuration);
  const uncompressed = new PathPatterns(configuration.uncompressed);
  const digests = new Map<string, string>(); // documents ask for few different digests
  const robotsTags = configuration.headers.map(({ path, set }) => [path, set['X-Robots-Tag']]);
  const objectFacts = JSON.stringify([OBJECT_VERSION, site, publisher, padding]);
  const pageFacts = shortDigest([PAGE_VERSION, settings, text, robotsTags.filter(([, tag]) => tag)]);
  return {
    ...{ objectFacts, pageFacts, headers, uncompressed },
    padding: padding !== 'none',
    optionsOf: (path, mediaType, form) => {
      const copy = isPage(mediaType) ? TEASER_VERSION : '';
      const shown = { copy, none: '', page: TEASER_VERSION, carrier: pageFacts }[form];
      const further = headers.headersOf(path);
      const isUncompressed = uncompressed.fits(path.slice(1));
      const key = `${mediaType} ${form} ${isUncompressed}${further ? JSON.stringify(further) : ''}`;
      const digest =
        digests.get(key) ?? shortDigest([objectFacts, mediaType, form, shown, further ?? {}, isUncompressed]);
      digests.set(key, digest);
      return digest;
    },
    fallbackPage: (path, teaser) => {
      if (teaser === undefined) throw new Error('every page has a teaser');
      const page = fallbackPageOf(path, decodeTeaser(teaser), settings, headers.headersOf(path));
      return template.render(page, barOf(page, settings));
    },
  };
}

function shortDigest(facts: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(facts)).slice(0, 32);
}

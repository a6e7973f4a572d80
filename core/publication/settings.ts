/** The site settings, a target: docs/spec/publication.md, "Site settings". */
import {
  canonicalJson,
  hasMembers,
  isJsonObject,
  type Json,
  type JsonObject,
  parseCanonicalJson,
} from '../encoding/canonical-json.ts';
import { isColour } from '../site/accent.ts';
import { isDocumentPath } from '../site/path.ts';
import { PublicationError } from './errors.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import { areGifts, areOfferedPlans, type Gifts, isSubscribeUrl, type OfferedPlan } from './offers.ts';
import { isReaderProgram, type ReaderProgram } from './reader-program.ts';
import { areSetTitles, type SetTitle } from './set-titles.ts';

export type RedirectStatus = 301 | 302 | 307 | 308;

export interface Redirect {
  readonly from: string;
  readonly status: RedirectStatus;
  /** A path as it stands in a URL, perhaps with query and fragment; or an `https:` URL. */
  readonly to: string;
}

/** Look of the pages that stand beside the publisher's own, and what they lead to. */
export interface SiteAppearance {
  /** The publisher's colour, as `#rrggbb` in lower case; pages use it where it can be read (`core/site/accent.ts`). */
  readonly accent?: string;
  readonly logo?: string;
  /** Address at which people subscribe: an `https:` URL. */
  readonly subscribe?: string;
  /** Titles of sets; the first that fits a name counts. Left out rather than empty. */
  readonly titles?: readonly SetTitle[];
  /** Tells whether the in-browser reader puts its button onto pages; left out where it does. */
  readonly sheet?: false;
  /** Offers to strangers, in the order of showing. Left out rather than empty. */
  readonly plans?: readonly OfferedPlan[];
  /** Limits within which readers may give pages away; left out where they may not. */
  readonly gifts?: Gifts;
  /** People whom a page that cannot be read here leads on to the reading site at once; left out: people who have read there before. */
  readonly redirect?: 'always' | 'never';
}

export interface SiteSettings extends SiteAppearance {
  readonly cleanUrls: boolean;
  /** Seconds. */
  readonly grace: number;
  /** Tells whether documents that are kept where they are read may be shown after the grace period, as of its end; left out where they may not. */
  readonly keptAfterGrace?: true;
  /** Path of the document that stands for all that do not exist. */
  readonly notFound?: string;
  /** Program for browsers in which no Reader is installed. Left out where the publisher does not say. */
  readonly reader?: ReaderProgram;
  readonly redirects: readonly Redirect[];
}

const STATUSES: readonly unknown[] = [301, 302, 307, 308];
const MAXIMUM_DESTINATION = 4096;

/** @throws PublicationError `settings-malformed` */
export function encodeSettings(settings: SiteSettings): Uint8Array {
  const { cleanUrls, gifts, keptAfterGrace, plans, redirects, sheet, titles, ...rest } = settings;
  const bytes = canonicalJson({
    ...rest,
    cleanUrls: cleanUrls ? 'yes' : 'no',
    ...(gifts !== undefined && { gifts: { ...gifts } }),
    ...(keptAfterGrace === true && { keptAfterGrace: 'yes' }),
    ...(plans !== undefined && { plans: plans.map((plan) => ({ ...plan })) }),
    ...(sheet === false && { sheet: 'no' }),
    redirects: redirects.map(({ from, status, to }) => ({ from, status, to })),
    ...(titles !== undefined && { titles: titles.map(({ set, title }) => ({ set, title })) }),
    version: 1,
  });
  parseSettings(bytes);
  return bytes;
}

const REQUIRED = ['cleanUrls', 'grace', 'redirects', 'version'];
const OPTIONAL = 'accent gifts keptAfterGrace logo notFound plans reader redirect sheet subscribe titles'.split(' ');

/** @throws PublicationError `settings-malformed` */
export function parseSettings(bytes: Uint8Array): SiteSettings {
  const value = bytes.length <= PUBLICATION_LIMITS.settingsLength ? parseCanonicalJson(bytes) : undefined;
  if (!isJsonObject(value) || !hasMembers(value, REQUIRED, OPTIONAL)) throw malformed('members');
  const { cleanUrls, grace, keptAfterGrace, notFound, reader, redirects, version } = value;
  if (version !== 1) throw malformed('version');
  if (cleanUrls !== 'yes' && cleanUrls !== 'no') throw malformed('cleanUrls');
  if (typeof grace !== 'number' || grace > PUBLICATION_LIMITS.grace) throw malformed('grace');
  if (keptAfterGrace !== undefined && keptAfterGrace !== 'yes') throw malformed('keptAfterGrace');
  if (notFound !== undefined && !isDocumentPath(notFound)) throw malformed('notFound');
  if (reader !== undefined && !isReaderProgram(reader)) throw malformed('reader');
  if (!Array.isArray(redirects) || redirects.length > PUBLICATION_LIMITS.redirects || !redirects.every(isRedirect))
    throw malformed('redirects');
  const list = redirects as unknown as Redirect[];
  if (new Set(list.map(({ from }) => from)).size !== list.length) throw malformed('two redirects from one path');
  return {
    cleanUrls: cleanUrls === 'yes',
    grace,
    redirects: list,
    ...(keptAfterGrace !== undefined && { keptAfterGrace: true }),
    ...(notFound !== undefined && { notFound }),
    ...(reader !== undefined && { reader: reader as ReaderProgram }),
    ...appearanceOf(value),
  };
}

/** @throws PublicationError `settings-malformed` */
function appearanceOf(value: JsonObject): SiteAppearance {
  const { accent, gifts, logo, plans, redirect, sheet, subscribe, titles } = value;
  if (accent !== undefined && !isColour(accent)) throw malformed('accent');
  if (logo !== undefined && !isDocumentPath(logo)) throw malformed('logo');
  if (sheet !== undefined && sheet !== 'no') throw malformed('sheet');
  if (subscribe !== undefined && !isSubscribeUrl(subscribe)) throw malformed('subscribe');
  if (titles !== undefined && !areSetTitles(titles)) throw malformed('titles');
  if (plans !== undefined && !areOfferedPlans(plans)) throw malformed('plans');
  if (gifts !== undefined && !areGifts(gifts)) throw malformed('gifts');
  if (redirect !== undefined && redirect !== 'always' && redirect !== 'never') throw malformed('redirect');
  return {
    ...(accent !== undefined && { accent }),
    ...(logo !== undefined && { logo }),
    ...(sheet !== undefined && { sheet: false }),
    ...(subscribe !== undefined && { subscribe }),
    ...(titles !== undefined && { titles: titles as unknown as SetTitle[] }),
    ...(plans !== undefined && { plans: plans as unknown as OfferedPlan[] }),
    ...(gifts !== undefined && { gifts: gifts as unknown as Gifts }),
    ...(redirect !== undefined && { redirect }),
  };
}

function isRedirect(value: Json): value is JsonObject {
  if (!isJsonObject(value) || !hasMembers(value, ['from', 'status', 'to'])) return false;
  return isDocumentPath(value.from) && STATUSES.includes(value.status) && isRedirectDestination(value.to);
}

/** Tells whether a redirect can lead to `text`: somewhere on the same site, or to an `https:` URL. */
export function isRedirectDestination(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > MAXIMUM_DESTINATION || !/^[\x21-\x7e]+$/.test(text)) return false;
  // Two slashes, or a slash and a backslash, would begin another host.
  if (text.startsWith('/')) return !/^\/[/\\]/.test(text);
  return text.startsWith('https://') && URL.canParse(text) && new URL(text).username === '';
}

function malformed(what: string): PublicationError {
  return new PublicationError('settings-malformed', `the site settings are malformed: ${what}`);
}

/** The site settings, a target: docs/spec/publication.md, "Site settings". */
import {
  canonicalJson,
  hasMembers,
  isJsonObject,
  type Json,
  type JsonObject,
  parseCanonicalJson,
} from '../encoding/canonical-json.ts';
import { isDocumentPath } from '../site/path.ts';
import { PublicationError } from './errors.ts';
import { PUBLICATION_LIMITS } from './limits.ts';

export type RedirectStatus = 301 | 302 | 307 | 308;

export interface Redirect {
  /** A document path. */
  readonly from: string;
  readonly status: RedirectStatus;
  /** A path as it stands in a URL, perhaps with query and fragment; or an `https:` URL. */
  readonly to: string;
}

export interface SiteSettings {
  readonly cleanUrls: boolean;
  /** Seconds. */
  readonly grace: number;
  /** Path of the document that stands for all that do not exist. */
  readonly notFound?: string;
  readonly redirects: readonly Redirect[];
}

const STATUSES: readonly unknown[] = [301, 302, 307, 308];
const MAXIMUM_DESTINATION = 4096;

/** @throws PublicationError `settings-malformed` */
export function encodeSettings({ cleanUrls, grace, notFound, redirects }: SiteSettings): Uint8Array {
  const bytes = canonicalJson({
    cleanUrls: cleanUrls ? 'yes' : 'no',
    grace,
    ...(notFound !== undefined && { notFound }),
    redirects: redirects.map(({ from, status, to }) => ({ from, status, to })),
    version: 1,
  });
  parseSettings(bytes);
  return bytes;
}

/** @throws PublicationError `settings-malformed` */
export function parseSettings(bytes: Uint8Array): SiteSettings {
  const value = bytes.length <= PUBLICATION_LIMITS.settingsLength ? parseCanonicalJson(bytes) : undefined;
  if (!isJsonObject(value) || !hasMembers(value, ['cleanUrls', 'grace', 'redirects', 'version'], ['notFound']))
    throw malformed('members');
  const { cleanUrls, grace, notFound, redirects, version } = value;
  if (version !== 1) throw malformed('version');
  if (cleanUrls !== 'yes' && cleanUrls !== 'no') throw malformed('cleanUrls');
  if (typeof grace !== 'number' || grace > PUBLICATION_LIMITS.grace) throw malformed('grace');
  if (notFound !== undefined && !isDocumentPath(notFound)) throw malformed('notFound');
  if (!Array.isArray(redirects) || redirects.length > PUBLICATION_LIMITS.redirects || !redirects.every(isRedirect))
    throw malformed('redirects');
  const list = redirects as unknown as Redirect[];
  if (new Set(list.map(({ from }) => from)).size !== list.length) throw malformed('two redirects from one path');
  return { cleanUrls: cleanUrls === 'yes', grace, redirects: list, ...(notFound !== undefined && { notFound }) };
}

function isRedirect(value: Json): value is JsonObject {
  if (!isJsonObject(value) || !hasMembers(value, ['from', 'status', 'to'])) return false;
  return isDocumentPath(value.from) && STATUSES.includes(value.status) && isRedirectDestination(value.to);
}

/** Whether a redirect can lead to `text`: somewhere on the same site, or to an `https:` URL. */
export function isRedirectDestination(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > MAXIMUM_DESTINATION || !/^[\x21-\x7e]+$/.test(text)) return false;
  // Two slashes, or a slash and a backslash, would begin another host.
  if (text.startsWith('/')) return !/^\/[/\\]/.test(text);
  return text.startsWith('https://') && URL.canParse(text) && new URL(text).username === '';
}

function malformed(what: string): PublicationError {
  return new PublicationError('settings-malformed', `the site settings are malformed: ${what}`);
}

/** The site settings of a publication, out of the configuration. */
import { encodeSettings } from '../../core/publication/settings.ts';
import type { Configuration } from '../configuration/schema.ts';

/** INTERIM, until the configuration has them. */
export function settingsOf(_configuration: Configuration): { readonly bytes: Uint8Array; readonly grace: number } {
  const grace = 14 * 86_400;
  return { grace, bytes: encodeSettings({ cleanUrls: false, grace, redirects: [] }) };
}

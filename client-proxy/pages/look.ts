/** How the Reader's pages look that stand in place of a publisher's: by its signed settings. */
import { createHash } from 'node:crypto';
import type { SiteLook } from '../../core/publication/settings.ts';
import { type Accent, accentOf } from '../../core/site/accent.ts';
import { urlPathOf } from '../../core/site/path.ts';
import { shownName } from './words.ts';

export interface PublisherLook {
  /** What the publisher calls itself. */
  readonly name: string;
  readonly accent: Accent;
  /** Path, as in a URL, of its logo on the site. */
  readonly logo: string | undefined;
  /** Where people subscribe. */
  readonly subscribe: string | undefined;
}

/** @param name - as the publisher's descriptor has it */
export function lookOf(name: string, { accent, logo, subscribe }: SiteLook): PublisherLook {
  return {
    name: shownName(name),
    accent: accentOf(accent),
    logo: logo === undefined ? undefined : urlPathOf(logo),
    subscribe,
  };
}

/** A style sheet that stands behind the one of all pages. */
export function accentStyle({ light, dark }: Accent): string {
  return `:root{--accent:${light}}@media(prefers-color-scheme:dark){:root{--accent:${dark}}}`;
}

/** Of {@link accentStyle}, for `style-src`. */
export function accentSource(accent: Accent): string {
  return `'sha256-${createHash('sha256').update(accentStyle(accent)).digest('base64')}'`;
}

/** How the Reader's pages look that stand in place of a publisher's: by its signed settings. */
import type { SiteAppearance } from '../../core/publication/settings.ts';
import { accentOf } from '../../core/site/accent.ts';
import { urlPathOf } from '../../core/site/path.ts';
import type { RefusalLook } from '../../reading/refusal-page.ts';
import { shownName } from './words.ts';

/** @param name - as the publisher's descriptor has it */
export function refusalLookOf(name: string, { accent, logo, subscribe }: SiteAppearance): RefusalLook {
  return {
    name: shownName(name),
    accent: accentOf(accent),
    logo: logo === undefined ? undefined : urlPathOf(logo),
    subscribe,
  };
}

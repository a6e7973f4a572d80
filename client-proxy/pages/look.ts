/** Look of the Reader's pages that stand in place of a publisher's: by its signed settings. */
import type { SiteAppearance } from '../../core/publication/settings.ts';
import { accentOf } from '../../core/site/accent.ts';
import { urlPathOf } from '../../core/site/path.ts';
import type { RefusalLook } from '../../reading/refusal-page.ts';
import { NAMELESS } from '../../words/en/reader.ts';

/** @param name - as the publisher's descriptor has it */
export function refusalLookOf(name: string, { accent, logo, subscribe }: SiteAppearance): RefusalLook {
  return { name: shownName(name), accent: accentOf(accent), logo: logo && urlPathOf(logo), subscribe };
}

/** A publisher's own name, fit to stand inside our sentences: no control characters, nothing that turns the direction of text. */
export function shownName(name: string): string {
  const plain = name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '').trim();
  return plain === '' ? NAMELESS : plain;
}

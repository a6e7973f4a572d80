/** The page in place of a document, in every reader: who publishes, what happened, one button, and for the publisher the code. Nothing runs in it. */

import type { Freshness } from '../core/publication/site-publication.ts';
import { type Accent, ON_DARK_ACCENT, ON_LIGHT_ACCENT } from '../core/site/accent.ts';
import { LANGUAGE } from '../words/en/language.ts';
import * as words from '../words/en/refusals.ts';
import { escapeHtml } from '../words/html.ts';
import { confirmedAt } from './confirmation.ts';
import type { Refusal, WayOn } from './refusals.ts';

/** Look that the publisher wants, by its signed settings. */
export interface RefusalLook {
  readonly name: string;
  readonly accent: Accent;
  readonly logo?: string | undefined;
  /** Address where people subscribe. */
  readonly subscribe?: string | undefined;
}

export interface WayLink {
  readonly text: string;
  readonly url: string;
  /** Opened in a tab of its own: this page comes back by itself. */
  readonly tab?: boolean;
}

export interface RefusalPage extends Refusal {
  readonly button?: WayLink | undefined;
  readonly links?: readonly WayLink[];
  /** Facts for the publisher, folded away: the code, and what else there is. */
  readonly facts: readonly string[];
}

const STYLE = `body{font:1.0625rem/1.55 system-ui,sans-serif;max-width:28rem;margin:auto;padding:5vh 1rem;background:var(--paper);overflow-wrap:anywhere}
header{font:bold 1.8rem/1.2 Georgia,serif;margin:0 0 1.5rem;text-align:center}h1{font:bold 1.5rem/1.25 Georgia,serif;margin:0}img{max-width:100%;max-height:4rem}@media(prefers-color-scheme:dark){img{filter:invert(.9) hue-rotate(180deg)}}
main{padding:8%;background:var(--card);border:1px solid #8885;border-top:3px solid var(--accent);border-radius:4px}
a{display:inline-block;margin-inline-end:1rem;color:var(--accent)}.b{padding:.6rem 1rem;border-radius:4px;background:var(--accent);color:var(--on);text-decoration:none}`;

/** The style sheet of the page, for a policy that names its hash, or for a file of its own. */
export function refusalStyle({ light, dark }: Accent): string {
  return `:root{color-scheme:light dark;--paper:#faf8f4;--card:#fff;--accent:${light};--on:${ON_LIGHT_ACCENT}}@media(prefers-color-scheme:dark){:root{--paper:#161513;--card:#201e1b;--accent:${dark};--on:${ON_DARK_ACCENT}}}${STYLE}`;
}

/** The page as HTML. @param head - what puts {@link refusalStyle} into it, as HTML */
export function refusalPage(page: RefusalPage, look: RefusalLook, head: string): string {
  const { status = 502, button, links = [], facts } = page;
  const [title, lead, name, logo] = [page.title, page.lead, look.name, look.logo ?? ''].map(escapeHtml);
  const masthead = logo && status < 500 ? `<img src="${logo}" alt="${name}">` : `<bdi>${name}</bdi>`;
  const anchors = [button, ...links].map(
    (link, index) =>
      link &&
      `<a${index ? '' : ' class="b"'}${link.tab ? ' target="_blank"' : ''} href="${escapeHtml(link.url)}">${escapeHtml(link.text)}</a> `,
  );
  const list = facts.map((fact) => `<p><code>${escapeHtml(fact)}</code>`);
  return `<!doctype html><html lang="${LANGUAGE.lang}" dir="${LANGUAGE.dir}"><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title>${head}<header>${masthead}</header><main><h1>${title}</h1><p>${lead}<p>${anchors.join('')}<details><summary>${words.FOR_THE_PUBLISHER}</summary>${list.join('')}</details></main></html>`;
}

/** The one button. @param urls - where each way leads; none where it would lead to the same refusal */
export function buttonOf(
  way: WayOn = 'again',
  urls: { readonly [name in WayOn]?: string | undefined },
): WayLink | undefined {
  const name = way === 'subscribe' && !urls.subscribe ? 'account' : way;
  const url = urls[name];
  return url && name !== 'none' ? { text: words.BUTTONS[name], url } : undefined;
}

/**
 * The page in front of a site that has not been confirmed for long, `stale`, or in front of what is kept of one that cannot be shown any more, `past`.
 * Its status is not 200: a program that takes it for the document would be wrong.
 *
 * @param name - of the publisher
 * @param target - path and query of what was asked for
 * @param now - in seconds since 1970
 */
export function noticePage(
  notice: 'past' | 'stale',
  { confirmed }: Freshness,
  { name, target, now }: { readonly name: string; readonly target: string; readonly now: number },
): RefusalPage {
  const { button, ...said } = words.NOTICES[notice](name, confirmed, now);
  return { status: 503, ...said, button: { text: button, url: target }, facts: [confirmedAt({ confirmed })] };
}

/** The page in front of a site whose publication has not been confirmed for long: its documents are still shown. */
import type { ServerResponse } from 'node:http';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { ago, CONFIRMED_HEADER, confirmedAt } from '../../core/reading/confirmation.ts';
import { VIA } from '../network/answer-fields.ts';
import { PAGE_HEADERS, renderPage } from './template.ts';
import { momentOf } from './words.ts';

export interface Notice {
  readonly site: string;
  /** Path and query of what was asked for: where the way on leads. */
  readonly target: string;
  readonly freshness: Freshness;
  /** Seconds since 1970. */
  readonly now: number;
}

/** Not 200: a program that takes it for the document would be wrong. */
export function sendNotice(response: ServerResponse, { site, target, freshness, now }: Notice): void {
  const { version, confirmed, freshUntil, shownUntil } = freshness;
  const html = renderPage({
    title: `${site} was last confirmed ${ago(confirmed, now)}`,
    lead: 'You can read on: everything is as the publisher signed it, but there may be an update you haven’t received.',
    advice: ['Check your connection, and the clock of this computer.'],
    action: { text: 'Read on', url: target },
    facts: [
      ['Publication', String(version)],
      ['Last confirmed', momentOf(confirmed)],
      ['To be confirmed by', momentOf(freshUntil)],
      ['Shown until', momentOf(shownUntil)],
    ],
  });
  response.writeHead(503, {
    ...PAGE_HEADERS,
    'content-length': String(Buffer.byteLength(html)),
    'wispr-notice': 'stale',
    via: VIA,
    [CONFIRMED_HEADER]: confirmedAt(freshness),
  });
  response.end(html);
}

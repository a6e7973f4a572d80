/** The page that stands in front of a site, once, when nobody has confirmed its publication for long: what it says is shown all the same. */
import type { ServerResponse } from 'node:http';
import type { Freshness } from '../../core/publication/site-publication.ts';
import { ago, CONFIRMED_HEADER, confirmedAt } from '../../core/reading/confirmation.ts';
import { VIA } from '../answer-fields.ts';
import { PAGE_HEADERS, renderPage } from './template.ts';
import { NOTICE_FACT_TEXT, noticeText } from './texts.ts';
import { momentOf } from './times.ts';

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
    ...noticeText(site, ago(confirmed, now)),
    action: { text: NOTICE_FACT_TEXT.action, url: target },
    facts: [
      [NOTICE_FACT_TEXT.publication, String(version)],
      [NOTICE_FACT_TEXT.confirmed, momentOf(confirmed)],
      [NOTICE_FACT_TEXT.freshUntil, momentOf(freshUntil)],
      [NOTICE_FACT_TEXT.shownUntil, momentOf(shownUntil)],
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

/** A stranger's way from the teaser of a page to the page, through the pretended checkout, in a browser without scripts; and what the office sees of it. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { request } from 'undici';
import { urlPathOf } from '../core/site/path.ts';
import type { Serving } from './serving.ts';
import { Visitor } from './visitor.ts';

const BUYER = 'eve@example.org';
/** Milliseconds in which the mail has to come, and between two looks for it. */
const MAIL_PATIENCE = 10_000;
const MAIL_PAUSE = 50;

export interface Sale {
  readonly good: boolean;
  /** A line for each step that was done. */
  readonly lines: readonly (readonly [what: string, figures: string])[];
}

/** @param source - folder of the publisher's own files */
export async function sellToStranger(serving: Serving, source: string): Promise<Sale> {
  const { cache, server, shop, office, published } = serving;
  const lines: [string, string][] = [];
  if (shop === undefined || office === undefined) return { good: true, lines };
  const path = urlPathOf(published.sample);
  const secret = secretOf(await readFile(join(source, published.sample), 'utf8'));
  const visitor = new Visitor();

  const teaser = await visitor.open(cache.url + path);
  const isHidden = teaser.status === 200 && !teaser.html.includes(secret);
  lines.push(['a stranger found a page', `${teaser.html.length} characters of teaser, none of the text`]);

  const start = performance.now();
  const plans = await visitor.follow(teaser, '/-/subscribe');
  const checkout = await visitor.send(plans, '/-/subscribe', { plan: shop.plans[0]?.name ?? '' });
  const back = await visitor.send(checkout, 'post', { email: BUYER });
  const page = back.html.includes('id="hand-over"') ? await visitor.send(back, 'hand-over') : back;
  const isRead = page.url === server.documentsUrl + path && page.html.includes(secret);
  const took = `${((performance.now() - start) / 1000).toFixed(1)} s`;
  const taken = shop.stripe.sent.filter(({ status }) => status === 204).length;
  const mails = () => shop.mailbox.mails.filter(({ to }) => to === BUYER).length;
  // The mail goes out after the answer.
  for (let times = 0; times < MAIL_PATIENCE / MAIL_PAUSE && mails() === 0; times++) await wait(MAIL_PAUSE);
  lines.push([
    'the stranger bought a plan',
    `nothing was paid; back ${isRead ? 'in the page' : `at ${page.url}`} after ${took}, ${taken} events taken, ${mails()} mail sent`,
  ]);

  const { body } = await request(`${office.origin}/subscribers`, { headers: office.headers });
  const isSeen = (await body.text()).includes(BUYER);
  lines.push(['the office looked', isSeen ? `${BUYER} is among the subscribers` : `${BUYER} is not to be seen`]);
  return { good: isHidden && isRead && isSeen && mails() > 0 && taken === shop.stripe.sent.length, lines };
}

/** Finds the last paragraph of a page, which no teaser has. */
function secretOf(html: string): string {
  return html.slice(html.lastIndexOf('<p>')).slice(0, 60).split('\n')[0] ?? '';
}

/** The first page: how many read, what was asked for, and what is late. */
import type { Express } from 'express';
import { countsSince } from '../storage/counts.ts';
import { countSubscribers, type SubscriberCounts } from '../subscriptions/directory.ts';
import { freshnessOf } from './freshness.ts';
import { type AdminPages, sendPage } from './pages.ts';
import { dayStart, keyPlot, refusalsOf, seriesOf } from './series.ts';

const DAY = 86_400;
/** Seconds for which numbers of subscribers are kept: to count them is to go through all. */
const KEPT = 60;

export function addOverviewPage(app: Express, pages: AdminPages): void {
  const { state } = pages;
  let kept: { readonly at: number; readonly counts: Promise<SubscriberCounts> } | undefined;
  const subscribers = (now: number) => {
    if (!kept || now - kept.at > KEPT || now < kept.at) {
      const counting = { at: now, counts: countSubscribers(state.database, now) };
      counting.counts.catch(() => {
        kept = undefined;
      });
      kept = counting;
    }
    return kept.counts;
  };
  app.get('/', async (_request, response) => {
    const now = state.now();
    const from = dayStart(now) - 13 * DAY;
    await state.counts.store();
    const counts = await countsSince(state.database, from);
    const series = seriesOf(counts, from, dayStart(now), DAY);
    await sendPage(pages, response, 'overview', {
      title: 'Overview',
      section: 'overview',
      now,
      people: await subscribers(now),
      plot: keyPlot(series),
      refusals: refusalsOf(counts).slice(0, 3),
      unused: refusalsOf(counts, 'stripe-unused '),
      fresh: await freshnessOf(state),
    });
  });
}

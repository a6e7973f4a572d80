/** Key requests, sign-ins and bindings over time: as plots, and the same as a table. */
import type { Express } from 'express';
import { countsSince } from '../storage/counts.ts';
import { type AdminPages, query, sendPage } from './pages.ts';
import { plot } from './plot.ts';
import { dayStart, keyPlot, refusalsOf, seriesOf } from './series.ts';

const [HOUR, DAY] = [3600, 86_400];
const SPANS = [
  { name: '2', label: '48 hours', step: HOUR },
  { name: '14', label: '14 days', step: DAY },
  { name: '90', label: '90 days', step: DAY },
] as const;

export function addRequestsPage(app: Express, pages: AdminPages): void {
  const { state } = pages;
  app.get('/requests', async (request, response) => {
    const span = SPANS.find(({ name }) => name === query(request, 'days')) ?? SPANS[1];
    const now = state.now();
    const to = span.step === DAY ? dayStart(now) : now - (now % HOUR);
    const from = to - Number(span.name) * DAY + span.step;
    await state.counts.store();
    const counts = await countsSince(state.database, from);
    const series = seriesOf(counts, from, to, span.step);
    const signIns = [
      { kind: 'signed-in', label: 'signed in', values: series.signIns },
      { kind: 'refused', label: 'refused', values: series.failedSignIns },
    ] as const;
    await sendPage(pages, response, 'requests', {
      title: 'Requests',
      section: 'requests',
      spans: SPANS,
      span,
      keys: keyPlot(series),
      signIns: { svg: plot(series.times, signIns, 'Sign-ins over time'), lines: signIns },
      refusals: refusalsOf(counts),
      series,
      isHourly: span.step === HOUR,
    });
  });
}

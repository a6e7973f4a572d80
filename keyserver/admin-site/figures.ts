/** Numbers over time, as plots and as tables: the first page, and that of requests. */
import type { Express } from 'express';
import { countsSince, type HourlyCount } from '../storage/counts.ts';
import { countSubscribers, type SubscriberCounts } from '../subscriptions/directory.ts';
import { freshnessOf } from './freshness.ts';
import { type AdminPages, query, sendPage } from './pages.ts';
import { type PlotLine, plot } from './plot.ts';

const [HOUR, DAY] = [3600, 86_400];
/** Seconds for which numbers of subscribers are kept: to count them is to go through all. */
const KEPT = 60;

export function addFigurePages(app: Express, pages: AdminPages): void {
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
    const { counts, series } = await figuresOf(pages, dayStart(now) - 13 * DAY, dayStart(now), DAY);
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
  app.get('/requests', async (request, response) => {
    const span = SPANS.find(({ name }) => name === query(request, 'days')) ?? SPANS[1];
    const now = state.now();
    const to = span.step === DAY ? dayStart(now) : now - (now % HOUR);
    const from = to - Number(span.name) * DAY + span.step;
    const { counts, series } = await figuresOf(pages, from, to, span.step);
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

const SPANS = [
  { name: '2', label: '48 hours', step: HOUR },
  { name: '14', label: '14 days', step: DAY },
  { name: '90', label: '90 days', step: DAY },
] as const;

/** @param step - seconds: an hour or a day @param from - beginning of the first one */
async function figuresOf({ state }: AdminPages, from: number, to: number, step: number) {
  await state.counts.store();
  const counts = await countsSince(state.database, from);
  return { counts, series: seriesOf(counts, from, to, step) };
}

type Series = ReturnType<typeof seriesOf>;

function seriesOf(counts: readonly HourlyCount[], from: number, to: number, step: number) {
  const times = Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
  const sums = (wanted: (what: string) => boolean) => {
    const values = times.map(() => 0);
    for (const { time, what, n } of counts) {
      const index = Math.floor((time - from) / step);
      if (wanted(what) && values[index] !== undefined) values[index] += n;
    }
    return values;
  };
  return {
    times,
    given: sums((what) => what === 'key-given'),
    refused: sums((what) => what.startsWith(REFUSED)),
    signIns: sums((what) => what === 'sign-in'),
    failedSignIns: sums((what) => what === 'sign-in-refused'),
    bindings: sums((what) => what === 'binding'),
  };
}

const REFUSED = 'key-refused ';

/** Counts keys that were refused, or events of Stripe that were not used, by reason, most first. */
function refusalsOf(counts: readonly HourlyCount[], kind: 'key-refused ' | 'stripe-unused ' = REFUSED) {
  const sums = new Map<string, number>();
  for (const { what, n } of counts)
    if (what.startsWith(kind)) sums.set(what.slice(kind.length), (sums.get(what.slice(kind.length)) ?? 0) + n);
  return [...sums].map(([reason, n]) => ({ reason, n })).sort((a, b) => b.n - a.n);
}

/** The plot of keys given and refused, and its legend. */
function keyPlot({ times, given, refused }: Series) {
  const lines: PlotLine[] = [
    { kind: 'given', label: 'given', values: given },
    { kind: 'refused', label: 'refused', values: refused },
  ];
  return { svg: plot(times, lines, 'Keys given and refused over time'), lines };
}

function dayStart(time: number): number {
  return time - (time % DAY);
}

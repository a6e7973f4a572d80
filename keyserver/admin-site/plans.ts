/** Plans: name, title, patterns, and the sets that they have today. */
import type { Express, Request } from 'express';
import { matchesPattern } from '../../core/keys/set-pattern.ts';
import { timeOf } from '../../core/keys/set-time.ts';
import { field } from '../http/forms.ts';
import type { Database } from '../storage/database.ts';
import { definePlan, extendPlan, listPlans, removePlan } from '../subscriptions/plans.ts';
import { wordsIn } from '../subscriptions/subscriber-list.ts';
import { parseSetPattern } from '../subscriptions/subscribers.ts';
import { type AdminPages, operatorState, sendPage } from './pages.ts';

/** Sets that are named; the others are counted. */
const NAMED = 8;

type PlanForm = Readonly<Record<'name' | 'title' | 'sets' | 'zone', string>>;

export function addPlanPages(app: Express, pages: AdminPages): void {
  const { state } = pages;
  const show = async (response: Parameters<typeof operatorState>[0], form: PlanForm, isPreview = false) => {
    const names = await setNames(state.database);
    const now = state.now();
    const covers = (patterns: readonly string[], zone: string | null) => covered(names, patterns, zone, now);
    const plans = (await listPlans(state)).map((plan) => ({ ...plan, covers: covers(plan.patterns, plan.zone) }));
    const preview = isPreview ? covers(wordsIn(form.sets).map(parseSetPattern), form.zone || null) : undefined;
    await sendPage(pages, response, 'plans', { title: 'Plans', section: 'plans', plans, form, preview });
  };
  app.get('/plans', (_request, response) => show(response, { name: '', title: '', sets: '', zone: '' }));
  app.post('/plans', async (request, response) => {
    const form = formOf(request);
    if (field(request, 'step') === 'preview') return show(response, form, true);
    const { name, zone } = form;
    await definePlan(operatorState(response), { name, title: form.title || undefined, sets: wordsIn(form.sets), zone });
    response.redirect(303, '/plans');
  });
  app.post('/plans/edit', async (request, response) => {
    const plan = (await listPlans(state)).find(({ name }) => name === field(request, 'name'));
    if (!plan) return response.redirect(303, '/plans');
    const { name, title, patterns, zone } = plan;
    await show(response, { name, title, sets: patterns.join(' '), zone: zone ?? '' }, true);
  });
  app.post('/plans/extend', async (request, response) => {
    await extendPlan(operatorState(response), field(request, 'name'), Number(field(request, 'days')));
    response.redirect(303, '/plans');
  });
  app.post('/plans/remove', async (request, response) => {
    await removePlan(operatorState(response), field(request, 'name'));
    response.redirect(303, '/plans');
  });
}

function formOf(request: Request): PlanForm {
  const [name, title, sets, zone] = ['name', 'title', 'sets', 'zone'].map((each) => field(request, each).trim());
  return { name: name ?? '', title: title ?? '', sets: sets ?? '', zone: zone ?? '' };
}

async function setNames(database: Database): Promise<string[]> {
  const sql = 'SELECT name FROM sets GROUP BY name ORDER BY max(imported) DESC, name DESC';
  return (await database.all<{ name: string }>(sql)).map(({ name }) => name);
}

/** The sets that a subscription of today can read: of a dated plan those of this time, and those without one. */
function covered(names: readonly string[], patterns: readonly string[], zone: string | null, now: number) {
  const matching = names.filter((name) => patterns.some((pattern) => matchesPattern(pattern, name)));
  const today = matching.filter((name) => {
    const time = zone === null ? undefined : timeOf(name, zone);
    return time === undefined || (time.start <= now && now < time.end);
  });
  return { named: today.slice(0, NAMED), today: today.length, matching: matching.length };
}

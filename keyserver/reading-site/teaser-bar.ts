/** The bar of a teaser for readers who are signed in: what they have, and what would open the page. */
import type { OfferedPlan } from '../../core/publication/offers.ts';
import { titleOfSet } from '../../core/publication/set-titles.ts';
import type { SiteSettings } from '../../core/publication/settings.ts';
import { ACCOUNT_PAGE } from '../../core/site/path.ts';
import { REFUSALS } from '../../reading/refusals.ts';
import { type Bar, offersFor } from '../../teaser/bar.ts';
import type { FallbackPage } from '../../teaser/fallback-page.ts';
import { ENDED, NOT_INCLUDED, SEE_ALL, YOUR_ACCOUNT } from '../../words/en/not-included.ts';
import type { DeniedSet } from '../readers/entitlement.ts';
import type { KeyServerState } from '../storage/state.ts';
import { decideAccess, isStanding } from '../subscriptions/access.ts';
import type { Plan, Right } from '../subscriptions/periods.ts';
import { findPlan } from '../subscriptions/plans.ts';

export interface BarPlace {
  readonly state: KeyServerState;
  readonly settings: Pick<SiteSettings, 'plans' | 'subscribe' | 'titles'>;
  readonly page: Pick<FallbackPage, 'language' | 'reading'>;
}

export async function barForReader(place: BarPlace, denied: DeniedSet): Promise<Bar> {
  const { state, settings, page } = place;
  const language = /^en\b/i.test(page.language) ? '' : 'en';
  const offers = offersFor(page.reading, settings);
  const all = offers === '' ? [] : [{ text: SEE_ALL, url: offers }];
  const own = { text: YOUR_ACCOUNT, url: new URL(ACCOUNT_PAGE, page.reading).href };
  const buttonOf = (text: string) => offers && { button: { text, url: offers } };
  const { ended } = denied;
  const { plans = [] } = settings;
  const [opening] = await plansThatOpen(state, plans, denied.name);
  const opens = opening ? NOT_INCLUDED.opens(opening.title, opening.price) : '';
  const get = opening && buttonOf(NOT_INCLUDED.button(opening.title));
  if (ended) {
    const said = ENDED.on(ended.plan?.title, ended.until ?? 0, ended.zone ?? 'UTC');
    const isOffered = plans.length === 0 || plans.some(({ name }) => name === ended.plan?.name);
    const bar = { language, title: ENDED.title, links: [own] };
    if (isOffered && opensNow(ended, denied.name ?? '', state.now()))
      return { ...bar, lead: `${said} ${ENDED.renew}`, ...buttonOf(ENDED.button) };
    return { ...bar, lead: [said, opens].filter(Boolean).join(' '), ...get, links: [own, ...all] };
  }
  const { title = '', lead = '' } = REFUSALS[denied.code] ?? {};
  if (denied.code !== 'not-entitled') return { language, title, lead, links: [own] };
  const set = titleOfSet(settings.titles ?? [], denied.name ?? '');
  const has = NOT_INCLUDED.have(standing(denied.rights, state.now()));
  return {
    language,
    title: NOT_INCLUDED.title(set),
    lead: [has, opens].filter(Boolean).join(' ') || lead,
    ...get,
    links: [own, ...all],
  };
}

/** Finds the plans on offer that would open a set, were they begun now. @param name - of the set, where it is known */
export async function plansThatOpen(
  { database, now }: KeyServerState,
  offered: readonly OfferedPlan[],
  name = '',
): Promise<OfferedPlan[]> {
  const plans = await Promise.all(offered.map((each) => findPlan(database, each.name)));
  return offered.filter((_each, index) => plans[index] && opensNow(plans[index], name, now()));
}

/** Tells whether a right to a plan opens a set if it begins now: a dated one does not where the time of the set is over. */
function opensNow(plan: Pick<Plan, 'patterns' | 'zone'>, name: string, now: number): boolean {
  return !decideAccess([{ ...plan, from: now, until: null }], name, now).denied;
}

/** Titles of the plans that stand. */
function standing(rights: readonly Right[], now: number): string[] {
  const titles = rights.flatMap((right) => (right.plan && isStanding(right, now) ? right.plan.title : []));
  return [...new Set(titles)];
}

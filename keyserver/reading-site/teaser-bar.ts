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
  if (ended) {
    const lead = ENDED.lead(ended.plan?.title, ended.until ?? 0, ended.zone ?? 'UTC');
    return { language, title: ENDED.title, lead, ...buttonOf(ENDED.button), links: [own] };
  }
  const { title = '', lead = '' } = REFUSALS[denied.code] ?? {};
  if (denied.code !== 'not-entitled') return { language, title, lead, links: [own] };
  const set = titleOfSet(settings.titles ?? [], denied.name ?? '');
  const [opening] = await plansThatOpen(state, settings.plans ?? [], denied.name);
  const has = NOT_INCLUDED.have(standing(denied.rights, state.now()));
  const opens = opening ? NOT_INCLUDED.opens(opening.title, opening.price) : '';
  return {
    language,
    title: NOT_INCLUDED.title(set),
    lead: [has, opens].filter(Boolean).join(' ') || lead,
    ...(opening && buttonOf(NOT_INCLUDED.button(opening.title))),
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
  const opens = (plan: Plan) => !decideAccess([{ ...plan, from: now(), until: null }], name, now()).denied;
  return offered.filter((_each, index) => plans[index] && opens(plans[index]));
}

/** Titles of the plans that stand. */
function standing(rights: readonly Right[], now: number): string[] {
  const titles = rights.flatMap((right) => (right.plan && isStanding(right, now) ? right.plan.title : []));
  return [...new Set(titles)];
}

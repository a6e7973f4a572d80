/** The bar of a page that is shown in part: to readers whose subscription leaves it out, or has ended. */
import { day } from './language.ts';

const LIST = new Intl.ListFormat('en-GB');

/** Title of a document of which nothing can be shown. */
export const FOR_SUBSCRIBERS = 'For subscribers';

export const NOT_INCLUDED = {
  /** @param set - what readers call the part of the site that has the page */
  title: (set: string | undefined) =>
    set === undefined ? 'Your subscription does not include this page' : `This is in “${set}”`,
  have: (plans: readonly string[]) => (plans.length > 0 ? `You have ${LIST.format(plans)}.` : ''),
  opens: (plan: string, price: string | undefined) => `${plan} has it${price ? `, for ${price}` : ''}.`,
  button: (plan: string) => `Get ${plan}`,
};

export const ENDED = {
  title: 'Your subscription has ended',
  on: (plan: string | undefined, until: number, zone: string) => `${plan ?? 'It'} ended on ${day(until, zone)}.`,
  renew: 'Renew it to read on.',
  button: 'Renew',
};

export const SEE_ALL = 'See all subscriptions';
export const YOUR_ACCOUNT = 'Your account';

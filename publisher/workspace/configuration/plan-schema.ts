/** The plans of `wispr.json`: whose sets readers find by period keys, and what strangers are offered. */
import { z } from 'zod';
import { PLAN_NAME, SET_PATTERN } from '../../../core/keys/set-pattern.ts';
import { isTimeZone, PERIODS } from '../../../core/keys/set-time.ts';
import { isBuyUrl, isOfferText, OFFER_LIMITS, type OfferedPlan } from '../../../core/publication/offers.ts';
import { refuseTwins } from './content-schema.ts';
import { hrefOf } from './look-schema.ts';

const MOST_PLANS = 16;

const line = (length: number) =>
  z.string().refine((text) => isOfferText(text, length), { error: `must be one line of 1 to ${length} characters` });

const plan = z.strictObject({
  name: z
    .string()
    .regex(PLAN_NAME, { error: 'must be 1 to 40 of a-z, 0-9 and "-"' })
    .meta({ description: 'The plan, as the key server has it.' }),
  sets: z
    .array(z.string().regex(SET_PATTERN, { error: 'must be a pattern of set names, such as "day-*"' }))
    .min(1)
    .max(100)
    .meta({ description: 'Patterns of set names: the same as at the key server.' }),
  period: z.enum(PERIODS).meta({ description: 'How long one period key is valid.' }),
  zone: z
    .string()
    .refine(isTimeZone, { error: 'must be a time zone such as Europe/Berlin' })
    .optional()
    .meta({ description: 'The time zone of a dated plan; left out, it is not dated, and periods are those of UTC.' }),
  title: line(OFFER_LIMITS.title).optional().meta({ description: 'What readers see in place of its name.' }),
  about: line(OFFER_LIMITS.about).optional().meta({ description: 'What is in it, in one line.' }),
  price: line(OFFER_LIMITS.price).optional().meta({ description: 'The price as readers see it: "€6 a month".' }),
  trial: z
    .int()
    .min(1)
    .max(OFFER_LIMITS.trial)
    .optional()
    .meta({ description: 'Days that are free, once for each mail address.' }),
  buy: z
    .string()
    .refine((text) => isBuyUrl(hrefOf(text)), { error: 'must be an https URL' })
    .optional()
    .meta({ description: 'Where it is paid for: a Payment Link of Stripe, or the page of another shop.' }),
});

/** Returns the plans that strangers are offered, as they are signed. */
export function offeredPlans(plans: readonly z.output<typeof plan>[]): OfferedPlan[] {
  return plans.flatMap(({ name, title = name, about, price, trial, buy }) => {
    if (price === undefined && trial === undefined && buy === undefined) return [];
    return {
      ...{ name, title },
      ...(about !== undefined && { about }),
      ...(price !== undefined && { price }),
      ...(trial !== undefined && { trial }),
      ...(buy !== undefined && { buy: hrefOf(buy) }),
    };
  });
}

export const gifts = z
  .strictObject({
    days: z.int().min(1).max(OFFER_LIMITS.days).default(14).meta({ description: 'Days for which a link works.' }),
    openings: z
      .int()
      .min(1)
      .max(OFFER_LIMITS.openings)
      .default(10)
      .meta({ description: 'Times that one link opens its page.' }),
    perMonth: z
      .int()
      .min(1)
      .max(OFFER_LIMITS.openings)
      .default(5)
      .meta({ description: 'Links that one reader may make in a month.' }),
  })
  .optional()
  .meta({
    description: 'Lets readers give pages away, by a link that opens one page at the reading site; off if left out.',
  });

export const plans = z
  .array(plan)
  .max(MOST_PLANS)
  .default([])
  .superRefine(refuseTwins('name', ({ name }) => name, 'is the name of an earlier plan already'))
  .meta({
    description:
      'Plans with period keys: their readers ask the key server once a period, not once for each new set. Those with a price, a trial or a shop are offered to strangers, in this order.',
  });

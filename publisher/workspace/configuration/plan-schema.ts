/** The plans of `wispr.json` whose sets readers find by period keys. */
import { z } from 'zod';
import { PLAN_NAME, SET_PATTERN } from '../../../core/keys/set-pattern.ts';
import { isTimeZone, PERIODS } from '../../../core/keys/set-time.ts';
import { refuseTwins } from './content-schema.ts';

const MOST_PLANS = 16;

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
});

export const plans = z
  .array(plan)
  .max(MOST_PLANS)
  .default([])
  .superRefine(refuseTwins('name', ({ name }) => name, 'is the name of an earlier plan already'))
  .meta({
    description: 'Plans with period keys: their readers ask the key server once a period, not once for each new set.',
  });

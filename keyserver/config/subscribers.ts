/** The members `stripe`, `entitlement` and `openid` of the configuration: where subscribers come from. */
import { z } from 'zod';
import { isLoopback } from '../../core/site/site.ts';
import { file } from './paths.ts';

export const stripeConfig = z
  .strictObject({
    secretFile: file('The file with the signing secret of the webhook endpoint, `whsec_…`.'),
    plans: z
      .record(z.string().min(1), z.string().min(1))
      .meta({ description: 'Which plan each price is: `{ "price_1Mow…": "daily" }`.' }),
    portal: z
      .string()
      .refine((text) => isHttpsUrl(text), 'must be an https address, like https://billing.stripe.com/p/login/…')
      .optional()
      .meta({
        format: 'uri',
        description:
          "The link of Stripe's customer portal, to which the account, and the choice of another plan, lead whoever pays there.",
      }),
  })
  .meta({ description: "Takes Stripe's events about subscriptions at `/v1/stripe`." });

export const entitlementConfig = z
  .strictObject({
    url: z
      .string()
      .refine(isHttpsUrl, 'must be an https address without a user, like https://paywall.news.example/wispr')
      .meta({ format: 'uri', description: 'Where the question is sent; `http:` on loopback only.' }),
    secretFile: file('The file with the secret that signs the questions, `whsec_…`.'),
    cacheMinutes: z.int().min(1).max(1440).default(15).meta({ description: 'Minutes for which an answer is kept.' }),
    outageHours: z.int().min(1).max(720).default(72).meta({
      description: 'Hours for which a plan without an end may be read after the last answer.',
    }),
  })
  .meta({ description: "The publisher's own system, which is asked who may read which plan." });

export const openidConfig = z
  .strictObject({
    issuer: z
      .string()
      .refine(
        (text) => isHttpsUrl(text) && new URL(text).search === '',
        'must be an https address without a query, like https://accounts.example',
      )
      .refine((text) => !text.includes('{'), 'must have the id of your tenant in place of {tenantid}')
      .meta({ format: 'uri', description: 'The address of the provider, as it calls itself.' }),
    clientId: z.string().min(1).meta({ description: 'What the provider calls this reading site.' }),
    clientSecretFile: file('The file with the secret that the provider gave.'),
    title: z.string().min(1).max(60).meta({ description: 'Text of the button: `Sign in with Example School`.' }),
    trustMail: z.boolean().default(false).meta({
      description:
        'Mail addresses count as verified where the provider does not say, as Microsoft Entra never does. Only for one tenant, whose administrators you trust with every subscriber.',
    }),
    plan: z.string().min(1).optional().meta({
      description: 'The plan that a new subscriber gets, without end. Left out: none, until you give one.',
    }),
  })
  .meta({ description: 'Lets people sign in at an OpenID Connect provider; off if left out.' });

/** Tells whether `text` is an address by https, or on this machine, without a user. */
function isHttpsUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password, hash } = new URL(text);
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
  return isSafe && username + password + hash === '';
}

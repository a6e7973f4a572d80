/** Sells a site on this machine: a pretended Stripe, a mailbox that takes every mail, and an operator who looks on. */
import { join } from 'node:path';
import { beginOperatorSession, findOperatorLink, inviteOperator } from '../keyserver/admin-site/operators.ts';
import type { KeyServerConfig } from '../keyserver/config/config.ts';
import { mailConfig } from '../keyserver/config/mail.ts';
import type { RunningKeyServer } from '../keyserver/server.ts';
import { newSecret } from '../keyserver/storage/digest.ts';
import { definePlan } from '../keyserver/subscriptions/plans.ts';
import { createFile } from '../node-support/files/write-file.ts';
import { type Mailbox, startMailbox } from './mailbox.ts';
import type { SiteSettings } from './site.ts';
import { type PricedPlan, priceOf } from './stripe/objects.ts';
import { buyPath, type PretendedStripe, startPretendedStripe } from './stripe/server.ts';

type Plans = NonNullable<SiteSettings['plans']>;

/** The operators' pages, and what a request has to have for them. */
export interface Office {
  readonly origin: string;
  readonly headers: Readonly<Record<'cookie' | 'host', string>>;
}

export interface Shop {
  readonly stripe: PretendedStripe;
  /** The plans that can be bought. */
  readonly plans: readonly PricedPlan[];
  readonly mailbox: Mailbox;
  /** Settings by which a key server knows it. */
  readonly settings: Pick<KeyServerConfig, 'admin' | 'mail' | 'stripe'>;
  /** Called when something was bought or mailed. */
  onNews: () => void;
  /** Sells for a key server, and lets an operator in. */
  open(server: RunningKeyServer): Promise<Office>;
  stop(): Promise<void>;
}

/** @param folder - for the secret that signs events */
export async function startShop(folder: string, { name, plans = [] }: SiteSettings): Promise<Shop> {
  const priced = plans.flatMap((plan) => (plan.buy === undefined ? [] : pricedPlan(plan)));
  const secret = `whsec_${newSecret()}`;
  const secretFile = join(folder, 'stripe.secret');
  createFile(secretFile, secret);
  const tell = () => shop.onNews();
  const mailbox = await startMailbox(tell);
  const stripe = await startPretendedStripe({ secret, plans: priced, onAnswer: tell });
  const shop: Shop = {
    ...{ stripe, mailbox, plans: priced },
    settings: {
      admin: { listen: { host: '127.0.0.1', port: 0 } },
      mail: mailConfig.parse({ smtp: mailbox.smtp, from: `${name} <reader@news.example>` }),
      stripe: {
        ...{ secretFile, portal: stripe.portal },
        plans: Object.fromEntries(priced.map((plan) => [priceOf(plan), plan.name])),
      },
    },
    onNews: () => undefined,
    open: async (server) => {
      for (const { name, title, sets, zone } of plans) await definePlan(server.state, { name, title, sets, zone });
      stripe.connect({ webhook: `${server.url}/v1/stripe`, after: `${server.readingUrl}/-/bought` });
      return openOffice(server);
    },
    stop: async () => {
      await Promise.all([stripe.stop(), mailbox.stop()]);
    },
  };
  return shop;
}

/** The plans with addresses where nothing is paid; without a shop none of them can be bought: the publisher's own shop is not asked. */
export function sellAt(plans: Plans, stripe: PretendedStripe | undefined): Plans {
  return plans.map(({ buy, ...plan }) =>
    buy === undefined || stripe === undefined ? plan : { ...plan, buy: stripe.url + buyPath(plan.name) },
  );
}

function pricedPlan({ name, title = name, price = '' }: Plans[number]): PricedPlan {
  return { name, title, price, amount: 100 * Number(/\d+/.exec(price)?.[0] ?? 1) };
}

/** An operator registers a passkey elsewhere; here the tour shows the pages, and can change nothing. */
async function openOffice({ state, adminUrl = '' }: RunningKeyServer): Promise<Office> {
  const operator = await findOperatorLink(state, (await inviteOperator(state, 'editor')).code);
  const session = await beginOperatorSession(state, operator?.id ?? 0);
  const { host, port } = new URL(adminUrl);
  return { origin: `http://127.0.0.1:${port}`, headers: { host, cookie: `wispr-operator-${port}=${session}` } };
}

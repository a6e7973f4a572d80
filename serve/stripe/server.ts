/**
 * A pretended Stripe, on loopback: its Payment Links and customer portal are pages where nothing is paid, and its events go to one webhook, in the form
 * and with the signature that Stripe documents (https://docs.stripe.com/payment-links/url-parameters, https://docs.stripe.com/webhooks).
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { request } from 'undici';
import { answerWith, close, listen } from '../hosts.ts';
import {
  beginPeriod,
  chargeObject,
  eventOf,
  invoiceObject,
  newPurchase,
  type PricedPlan,
  type Purchase,
  type StripeEvent,
  sessionObject,
  signatureOf,
  subscriptionObject,
} from './objects.ts';
import { checkoutPage, HAPPENINGS, portalPage } from './pages.ts';

export interface StripeOptions {
  /** Secret that signs events, `whsec_…`. */
  readonly secret: string;
  readonly plans: readonly PricedPlan[];
  /** @returns seconds since 1970 */
  readonly now?: () => number;
  /** Chooses what is sent of the events of one moment, and in which order: an event can be left out, sent twice, or late. */
  readonly arrange?: (events: readonly StripeEvent[]) => readonly StripeEvent[] | Promise<readonly StripeEvent[]>;
  /** Called when the seller has answered an event. */
  readonly onAnswer?: () => void;
  /** Milliseconds for which a buyer waits until the seller has answered; Stripe has them wait for 10 seconds. */
  readonly patience?: number;
}

/** Addresses of the seller. */
export interface Seller {
  readonly webhook: string;
  /** Page that buyers come back to; the id of the checkout is added as `session_id`. */
  readonly after: string;
}

type Happening = keyof typeof HAPPENINGS;

export interface PretendedStripe {
  readonly url: string;
  /** Address of the customer portal. */
  readonly portal: string;
  /** Purchases, newest last; at most {@link MOST_PURCHASES}. */
  readonly purchases: readonly Purchase[];
  /** Events that were sent, and the status of their answers; 0: there was none. */
  readonly sent: readonly { readonly type: string; readonly status: number }[];
  /** Sells for this seller from now on; before, nothing is sold. */
  readonly connect: (seller: Seller) => void;
  /** Has something happen to a subscription. @returns once its events are sent */
  readonly happen: (what: Happening, purchase: Purchase) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const MOST_PURCHASES = 1000;
/** Bytes of a form. */
const FORM_LENGTH = 4096;
const PATIENCE = 10_000;

export const buyPath = (plan: string): string => `/pay/${plan}`;

export async function startPretendedStripe(options: StripeOptions): Promise<PretendedStripe> {
  const { plans } = options;
  const ledger = new Ledger(options);
  const server = createServer();
  const url = await listen(server);
  answerWith(server, async (incoming, response) => {
    response.setHeader(
      'content-security-policy',
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    );
    const { pathname, searchParams } = new URL(incoming.url ?? '/', url);
    const plan = plans.find(({ name }) => pathname === buyPath(name));
    const form = incoming.method === 'POST' ? await readForm(incoming) : undefined;
    if (plan) return sell(ledger, plan, searchParams, form, response);
    if (pathname !== '/portal') return void response.writeHead(404).end();
    if (form) await change(ledger, form);
    const email = searchParams.get('prefilled_email');
    sendPage(response, portalPage(ledger.purchases.filter((each) => email === null || each.email === email)));
  });
  return {
    ...{ url, portal: `${url}/portal`, purchases: ledger.purchases, sent: ledger.sent },
    connect: (seller) => {
      ledger.seller = seller;
    },
    happen: (what, purchase) => ledger.happen(what, purchase),
    stop: () => {
      ledger.seller = undefined;
      return close(server);
    },
  };
}

/** A page of a Payment Link, and what comes of its form. */
async function sell(
  ledger: Ledger,
  plan: PricedPlan,
  asked: URLSearchParams,
  form: URLSearchParams | undefined,
  response: ServerResponse,
): Promise<void> {
  const locked = asked.get('locked_prefilled_email');
  const email = locked ?? form?.get('email') ?? asked.get('prefilled_email') ?? '';
  const refuse = (problem?: string) =>
    sendPage(response, checkoutPage(plan, { email, isLocked: locked !== null }, problem));
  if (form === undefined) return refuse();
  if (!/^[^@\s]{1,64}@[^@\s]{1,189}$/.test(email)) return refuse('That is no mail address.');
  if (form.get('card') === 'declined') return refuse('Your card was declined.');
  if (ledger.seller === undefined || ledger.purchases.length >= MOST_PURCHASES)
    return refuse('Nothing is sold at the moment.');
  // Stripe, too, drops a reference of other characters without a word.
  const reference = /^[\w-]{1,200}$/.exec(asked.get('client_reference_id') ?? '')?.[0] ?? null;
  response.writeHead(303, { location: await ledger.sell(plan, email, reference, ledger.seller) }).end();
}

async function change(ledger: Ledger, form: URLSearchParams): Promise<void> {
  const purchase = ledger.purchases.find(({ ids }) => ids.subscription === form.get('subscription'));
  const what = Object.keys(HAPPENINGS).find((each): each is Happening => each === form.get('do'));
  if (purchase && what) await ledger.happen(what, purchase);
}

async function readForm(incoming: IncomingMessage): Promise<URLSearchParams> {
  let text = '';
  for await (const piece of incoming.setEncoding('utf8')) {
    text += piece;
    if (text.length > FORM_LENGTH) throw new RangeError('the form is too long');
  }
  return new URLSearchParams(text);
}

function sendPage(response: ServerResponse, html: string): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
}

/** Purchases, and the events about them. */
class Ledger {
  readonly purchases: Purchase[] = [];
  readonly sent: { type: string; status: number }[] = [];
  seller: Seller | undefined;
  readonly #options: StripeOptions;

  constructor(options: StripeOptions) {
    this.#options = options;
  }

  /** @returns the address that the buyer is led to, once the seller knows, or has been waited for */
  async sell(plan: PricedPlan, email: string, reference: string | null, { after }: Seller): Promise<string> {
    const purchase = newPurchase(plan, email, reference, this.#now());
    this.purchases.push(purchase);
    const begun = this.#about('created', purchase);
    purchase.status = 'active';
    const paid = [
      this.#event('invoice.paid', invoiceObject(purchase, true)),
      this.#about('updated', purchase, { status: 'incomplete' }),
      this.#event('checkout.session.completed', sessionObject(purchase)),
    ];
    const { patience = PATIENCE } = this.#options;
    const waited = new Promise((resolve) => setTimeout(resolve, patience).unref());
    await Promise.race([this.#send([begun, ...paid]), waited]);
    const back = new URL(after);
    back.searchParams.set('session_id', purchase.ids.session);
    return back.href;
  }

  async happen(what: Happening, purchase: Purchase): Promise<void> {
    if (purchase.status === 'canceled' && what !== 'refund') return;
    await this.#send(this.#happening(what, purchase));
  }

  #happening(what: Happening, purchase: Purchase): StripeEvent[] {
    const { status, canceled, period } = purchase;
    if (what === 'refund') {
      purchase.refunded = purchase.plan.amount;
      return [this.#event('charge.refunded', chargeObject(purchase), { amount_refunded: 0, refunded: false })];
    }
    if (what === 'cancel') {
      purchase.canceled = this.#now();
      return [this.#about('updated', purchase, { cancel_at_period_end: false, canceled_at: canceled })];
    }
    if (what === 'end' || canceled !== null) {
      purchase.ended = what === 'end' ? this.#now() : period.end;
      purchase.canceled ??= purchase.ended;
      purchase.status = 'canceled';
      return [this.#about('deleted', purchase)];
    }
    // A payment that is late is for the month that has begun.
    if (what === 'fail' || status === 'active') beginPeriod(purchase);
    const isPaid = what === 'renew';
    purchase.status = isPaid ? 'active' : 'past_due';
    return [
      this.#event(isPaid ? 'invoice.paid' : 'invoice.payment_failed', invoiceObject(purchase, isPaid)),
      this.#about('updated', purchase, { status, current_period_end: period.end }),
    ];
  }

  #about(step: string, purchase: Purchase, before?: object): StripeEvent {
    return this.#event(`customer.subscription.${step}`, subscriptionObject(purchase), before);
  }

  #event(type: string, object: object, before?: object): StripeEvent {
    return eventOf(type, this.#now(), object, before);
  }

  #now(): number {
    return this.#options.now?.() ?? Math.floor(Date.now() / 1000);
  }

  /** Sends events one after the other, as they are arranged; an event that is refused is not sent again. */
  async #send(events: readonly StripeEvent[]): Promise<void> {
    const { arrange = (all) => all, onAnswer, secret } = this.#options;
    for (const event of await arrange(events)) {
      if (this.seller === undefined) return;
      const body = JSON.stringify(event);
      const headers = {
        'content-type': 'application/json',
        'stripe-signature': signatureOf(body, secret, this.#now()),
      };
      const status = await deliver(this.seller.webhook, headers, body);
      this.sent.splice(0, this.sent.length - 4 * MOST_PURCHASES);
      this.sent.push({ type: event.type, status });
      onAnswer?.();
    }
  }
}

async function deliver(webhook: string, headers: Record<string, string>, body: string): Promise<number> {
  const time = { headersTimeout: 10_000, bodyTimeout: 10_000 };
  try {
    const answer = await request(webhook, { method: 'POST', headers, body, ...time });
    await answer.body.dump();
    return answer.statusCode;
  } catch {
    return 0;
  }
}

/** Pages of the pretended Stripe. They say on top that nothing is paid. */
import { escapeHtml } from '../../words/html.ts';
import type { PricedPlan, Purchase } from './objects.ts';

const STYLE = `:root { color-scheme: light dark; --line: light-dark(#c9ced6, #4a525c); --accent: light-dark(#3d3a8c, #b9b6ff) }
* { box-sizing: border-box } body { margin: 0 auto; padding: 1.5rem 1.2rem; max-width: 27rem; font: 1.0625rem/1.5 system-ui, sans-serif;
background: light-dark(#f6f7f9, #15181c); color: light-dark(#1c2129, #e6e9ee) } h1 { font-size: 1.4rem; line-height: 1.25; margin: 1rem 0 0 }
.note { margin: 0; padding: .5rem .8rem; border-radius: .4rem; background: light-dark(#ffe9b8, #55430f) } .price { font-size: 1.25rem; margin: .2rem 0 1.2rem }
label { display: block } input, button { font: inherit; width: 100%; padding: .7rem .9rem; margin: .3rem 0; border-radius: .5rem; border: 1px solid var(--line);
background: light-dark(#fff, #20252b); color: inherit } button { cursor: pointer } .first { background: var(--accent); border-color: var(--accent);
color: light-dark(#fff, #14142a) } input[readonly] { opacity: .8 } .bad { color: light-dark(#a3271b, #ff9c8a) } li { margin: 0 0 1.5rem } ul { list-style: none; padding: 0 }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }`;

function pageOf(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title><style>${STYLE}</style>
<main><p class="note"><strong>Pretended ${title === 'Checkout' ? 'checkout' : 'customer portal'}: nothing is paid.</strong></p>
${body}</main></html>
`;
}

export interface Buyer {
  readonly email: string;
  /** Tells whether the seller knows the address, so that it is not typed. */
  readonly isLocked: boolean;
}

export function checkoutPage(plan: PricedPlan, { email, isLocked }: Buyer, problem?: string): string {
  const more = isLocked ? ' readonly' : ' autocomplete="email"';
  return pageOf(
    'Checkout',
    `<h1>${escapeHtml(plan.title)}</h1>
<p class="price">${escapeHtml(plan.price)}</p>
${problem === undefined ? '' : `<p class="bad" role="alert">${escapeHtml(problem)}</p>`}
<form method="post">
<label for="email">Mail address</label>
<input id="email" name="email" type="email" required maxlength="254" value="${escapeHtml(email)}"${more}>
<button class="first">Pay</button>
<button name="card" value="declined">Pay with a card that is declined</button>
</form>`,
  );
}

/** Changes of a subscription, by its buyer or by time. */
export const HAPPENINGS = {
  renew: 'A month passes, and is paid',
  fail: 'A month passes, and the payment fails',
  cancel: 'Cancel at the end of the month',
  end: 'Cancel at once',
  refund: 'Refund the first month',
} as const;

export function portalPage(purchases: readonly Purchase[]): string {
  const rows = purchases.map(
    ({ plan, email, status, canceled, ids }) => `<li>
<h1>${escapeHtml(plan.title)}</h1>
<p class="price">${escapeHtml(email)}: ${status}${canceled === null ? '' : ', cancelled'}</p>
<form method="post"><input type="hidden" name="subscription" value="${ids.subscription}">
${Object.entries(HAPPENINGS)
  .map(([name, text]) => `<button name="do" value="${name}">${text}</button>`)
  .join('\n')}
</form>`,
  );
  return pageOf('Customer portal', rows.length === 0 ? '<p>There is no subscription.' : `<ul>${rows.join('\n')}</ul>`);
}

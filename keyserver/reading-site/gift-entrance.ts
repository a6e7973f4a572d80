/** Opens gifts at the documents' origin: a form of the account's brings the secret, and the browser gets a cookie that opens this one page. */
import type { Express, Request } from 'express';
import { GIFT_PAGE, GIVEN } from '../../core/site/path.ts';
import { KeyServerError } from '../errors.ts';
import type { AppOptions } from '../http/app.ts';
import { field, formOf } from '../http/forms.ts';
import { limitFailures } from '../http/limits.ts';
import type { ProviderReader } from '../publication/provider.ts';
import { findGift, giftVisits, openGift } from '../readers/gifts.ts';
import type { KeyServerState } from '../storage/state.ts';
import type { Subscriber } from '../subscriptions/subscribers.ts';
import type { DocumentService } from './documents.ts';
import { isGivable, pathsOf } from './given-page.ts';
import { accountOnly, documentLimit, openedOnly, refuseTooMany, unrecorded } from './own-pages.ts';
import type { ReadPublications } from './publications.ts';
import { type FlowCookie, giftCookie } from './session-cookie.ts';

/** Characters of a form with a secret, or the link that it was in, and the path of a page. */
const form = formOf(20_000, 2);

/** Gifts that browsers have opened. */
export interface Gifts {
  readonly cookie: FlowCookie;
  /** Tells whether a browser that has opened a gift asks for the page. */
  readonly isAsked: (request: Request) => boolean;
  readonly giversOf: (request: Request, path: string) => Promise<readonly Subscriber[]>;
}

export function giftsAt(state: KeyServerState, origin: string): Gifts {
  const cookie = giftCookie(origin);
  return {
    cookie,
    isAsked: (request) => request.originalUrl.endsWith(GIVEN) && cookie.read(request).length > 0,
    giversOf: async (request, path) => {
      const visits = await giftVisits(state, cookie.read(request));
      return visits.filter(({ paths }) => paths.includes(path)).map(({ giver }) => giver);
    },
  };
}

export interface GiftEntrance extends DocumentService, Pick<AppOptions, 'limits' | 'origin'> {
  readonly provider: ProviderReader;
  readonly publications: ReadPublications;
  readonly account: string;
  readonly given: Gifts;
}

/** Adds the route. It stands below `/-/`, where a worker leaves forms to the server. */
export function addGiftEntrance(app: Express, entrance: GiftEntrance): void {
  const { state, limits, account } = entrance;
  const failures = { kind: 'gifts', limit: limits.joinsPerAddress, countedBy: 'address' } as const;
  app.post(
    GIFT_PAGE,
    unrecorded,
    accountOnly(account),
    openedOnly,
    documentLimit(limits),
    limitFailures(state, failures, refuseTooMany),
    form,
    async (request, response) => {
      const target = field(request, 'to');
      const token = await open(entrance, request, target);
      if (token !== undefined) entrance.given.cookie.add(request, response, token);
      response.redirect(303, entrance.origin + target + GIVEN);
    },
  );
}

/**
 * Opens the gift whose secret came with a form. Nothing of it is used up where the page cannot be opened, or was opened in this browser already.
 *
 * @returns the token for this browser, if it needs one
 * @throws KeyServerError `gift-refused`; what keeps the page from being shown
 */
async function open(entrance: GiftEntrance, request: Request, target: string): Promise<string | undefined> {
  const { state, origin, account, given } = entrance;
  // People may have pasted the whole link.
  const secret = field(request, 'secret').replace(/^.*#/s, '').trim();
  const gift = await findGift(state, secret, target);
  if (!gift) throw refused('there is no such gift');
  const visits = await giftVisits(state, given.cookie.read(request));
  if (visits.some((visit) => visit.gift === gift.id)) return undefined;
  if (gift.openings === 0) throw refused('the gift is used up');
  const here = await entrance.provider.demandSite(account);
  const found = await entrance.publications.documentAt(here, target);
  const { publication } = entrance.publications.of(here.provider, here.site);
  if (publication.settings.gifts === undefined) throw refused('nothing is given away any more');
  // Documents that are public by now, or gone, are answered as for everybody.
  if (!found || !isGivable(found)) return undefined;
  const page = { ...found, subscriber: gift.giver, url: new URL(target, origin) };
  const paths = await pathsOf(entrance, page, publication).catch((error: unknown) => {
    throw isOfGiver(error) ? refused('the giver may not read the page any more') : error;
  });
  const token = await openGift(state, gift.id, paths);
  if (token === undefined) throw refused('the gift is used up');
  return token;
}

/** A stranger is not told how it stands with the giver's subscription. */
function isOfGiver(error: unknown): boolean {
  return error instanceof KeyServerError && ['lapsed', 'not-entitled', 'revoked'].includes(error.code);
}

function refused(why: string): KeyServerError {
  return new KeyServerError('gift-refused', why);
}

/** Signing in at an OpenID provider: there by `/-/openid`, and back by `/-/openid/back`. */
import type { Express, Request, Response } from 'express';
import type { Logger } from 'pino';
import { localTarget } from '../../reading/local-target.ts';
import { KeyServerError } from '../errors.ts';
import { noStore } from '../http/app.ts';
import { queryOf } from '../http/forms.ts';
import { limitFailures } from '../http/limits.ts';
import { OPENID_BACK, type OpenIdSignIn } from '../sign-in/openid-configuration.ts';
import { signInPerson } from '../sign-in/openid-identities.ts';
import { sendSignIn } from './account-pages.ts';
import { type AccountPages, beginSession } from './account-session.ts';
import { documentLimit, openedOnly, refuseTooMany } from './own-pages.ts';
import type { RefusedSignIn } from './pages.ts';
import { type FlowCookie, sameOriginOnly } from './session-cookie.ts';

/** Characters: of a cookie, browsers keep 4,096. */
const MAXIMUM_TARGET_LENGTH = 2800;

export interface OpenIdPages extends AccountPages {
  readonly openid: OpenIdSignIn;
  readonly log: Logger;
  /** Holds the browser's secrets, each with where the person wanted to go. */
  readonly way: FlowCookie;
}

/** Adds both routes to the reading site. */
export function addOpenIdPages(app: Express, pages: OpenIdPages): void {
  const { origin, limits, state } = pages;
  const counted = { kind: 'openid', limit: limits.signInsPerAddress, countedBy: 'address' } as const;
  const failures = limitFailures(state, counted, refuseTooMany);
  // Pages of this origin alone lead here: no other can have a reader sign in as a person whom it chooses.
  app.get('/-/openid', noStore, openedOnly, sameOriginOnly(origin), documentLimit(limits), (request, response) =>
    sendAway(pages, request, response),
  );
  app.get(OPENID_BACK, noStore, openedOnly, failures, (request, response) => acceptReturn(pages, request, response));
}

async function sendAway(pages: OpenIdPages, request: Request, response: Response): Promise<void> {
  const { origin, openid, way } = pages;
  const wanted = localTarget(queryOf(request, 'to') + queryOf(request, 'place'), origin);
  const to = wanted.length > MAXIMUM_TARGET_LENGTH ? '/' : wanted;
  try {
    const { url, secret } = await openid.provider.begin(origin + OPENID_BACK);
    way.add(request, response, `${secret}.${Buffer.from(to).toString('base64url')}`);
    response.redirect(303, url.href);
  } catch (error) {
    await refuse(pages, response, to, error);
  }
}

/** A flow is used up when its window comes back. */
async function acceptReturn(pages: OpenIdPages, request: Request, response: Response): Promise<void> {
  const { origin, state, openid, way } = pages;
  const current = new URL(request.originalUrl, origin);
  const flow = way.read(request).find((each) => openid.provider.isFlowOf(each.split('.')[0] ?? '', current)) ?? '';
  const [secret = '', target = ''] = flow.split('.');
  const to = localTarget(Buffer.from(target, 'base64url').toString(), origin);
  way.remove(request, response, flow);
  try {
    const person = await openid.provider.person(secret, current);
    const session = await signInPerson(state, person, openid.plan).catch((error: unknown) => {
      throw error instanceof KeyServerError && error.code === 'no-such-plan'
        ? new KeyServerError('openid-unusable', error.message, { cause: error })
        : error;
    });
    await beginSession(pages, request, response, session);
    response.redirect(303, to);
  } catch (error) {
    await refuse(pages, response, to, error);
  }
}

/** Faults of this side or the provider's; the others are 403. */
const FAULTS = ['openid-unreachable', 'openid-unusable', 'openid-clock-off'];

/** Leads all that can go wrong to the sign-in page, from where the person can try again. */
async function refuse(pages: OpenIdPages, response: Response, to: string, error: unknown): Promise<void> {
  if (!(error instanceof KeyServerError && isRefusal(error.code))) throw error;
  const { code, message } = error;
  if (code !== 'openid-cancelled') pages.log.warn({ code, reason: message }, 'refused');
  await sendSignIn(pages, response.status(FAULTS.includes(code) ? 502 : 403), { to, refused: code });
}

function isRefusal(code: string): code is RefusedSignIn {
  return code.startsWith('openid-');
}

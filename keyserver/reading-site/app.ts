/**
 * The origin of the reading site that links lead to. People sign in here, join and see their account, below `/-/`. Everything else is led on
 * to the origin of the documents: no published byte is ever here, so no published script can reach an account.
 */
import type { Express, Request, Response } from 'express';
import { READER_INVITATION_URL } from '../../core/site/open-in-reader.ts';
import { READING_SITE_PAGES } from '../../core/site/path.ts';
import { DESCRIPTOR_PATH } from '../../core/site/well-known.ts';
import type { WebReaderFiles } from '../../node-support/web-reader-files.ts';
import { sendDescriptor } from '../api/answers.ts';
import type { FirstPage } from '../config/schema.ts';
import type { AppOptions } from '../http/app.ts';
import { FailureCounts } from '../http/failure-counts.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { ProviderReader } from '../publication/provider.ts';
import type { OpenIdSignIn } from '../sign-in/openid-configuration.ts';
import type { KeyServerState } from '../storage/state.ts';
import { addAccountPages } from './account-pages.ts';
import { type AccountPages, leadTo, subscriberOf } from './account-session.ts';
import { addGiftPages } from './gift-pages.ts';
import { isReadInBrowser } from './in-browser.ts';
import { addJoinPages } from './join-pages.ts';
import { addMailPages } from './mail-pages.ts';
import { addOpenIdPages } from './openid-pages.ts';
import { addOwnAccountPages } from './own-account-pages.ts';
import {
  createReadingApp,
  documentLimit,
  handleError,
  isOpened,
  limitChanges,
  mastheadOf,
  named,
  readingOnly,
  refuseForeign,
  sendRefusal,
} from './own-pages.ts';
import { SCRIPT_DIGESTS } from './pages.ts';
import { addPasskeyPages } from './passkey-pages.ts';
import { programVersion } from './program.ts';
import type { ReadPublications } from './publications.ts';
import { refusalFor } from './refusals.ts';
import { checkoutCookie, knownBrowserCookie, mailCookie, openIdCookie, sessionCookie } from './session-cookie.ts';
import { DAY } from './sign-in-limits.ts';
import { type AccountTeasers, headlineAt, plansAt, teaseAtAccount } from './teaser-page.ts';
import type { Teasers } from './teasers.ts';
import { addTillPages } from './till-pages.ts';
import { addUnsubscribePage } from './unsubscribe-page.ts';
import { addVault, endFrame } from './vault.ts';

export interface ReadingSiteOptions extends AppOptions {
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  readonly publications: ReadPublications;
  readonly teasers: Teasers;
  readonly documents: string;
  /** Sends mail; `undefined`: nothing does, and nobody signs up. */
  readonly mailer: Mailer | undefined;
  /** Page at which people who pay by Stripe change that. */
  readonly portal: string | undefined;
  /** Names of the plans that have a price at Stripe. */
  readonly priced: ReadonlySet<string>;
  readonly openid: OpenIdSignIn | undefined;
  /** The in-browser reader; `undefined`: documents are decrypted by the server. */
  readonly webReader: WebReaderFiles | undefined;
  readonly firstPage: FirstPage;
}

/** The reading site's own pages as an Express app, not listening. */
export function createReadingSite(options: ReadingSiteOptions): Express {
  const { provider, publications, origin, documents, limits, webReader, firstPage, openid, log } = options;
  const isInBrowser = () => isReadInBrowser({ webReader, provider, account: origin });
  const pages: AccountPages = {
    ...options,
    account: origin,
    cookie: sessionCookie(origin),
    mail: options.mailer && { mailer: options.mailer, cookie: mailCookie(origin) },
    knownBrowser: knownBrowserCookie(origin),
    told: new FailureCounts(options.state, 'told of additions', DAY),
    masthead: async () => {
      const { content, ...head } = await mastheadOf({ provider, publications, account: origin });
      return { ...head, logo: undefined, ...((await isInBrowser()) && { content }) };
    },
    program: async () => {
      const here = (await isInBrowser()) ? await provider.siteAt(origin) : undefined;
      return webReader && here && programVersion(webReader, publications, here.provider, here.site);
    },
    isSignedIn: async (request) => (await subscriberOf(pages, request)) !== undefined,
    opensHere: async () => firstPage === 'server' || !(await isInBrowser()),
    tease: (...asked) => teaseAtAccount(teasing, ...asked),
    headlineOf: (to) => headlineAt(teasing, to),
    plansFor: (to, plans) => plansAt(teasing, to, plans),
  };
  const teasing: AccountTeasers = {
    ...options,
    account: origin,
    signUp: pages.mail !== undefined,
    subscriberOf: (request) => subscriberOf(pages, request),
  };
  const formsLeadTo = [documents, new URL(READER_INVITATION_URL).origin];
  const scripts = webReader ? [...SCRIPT_DIGESTS, webReader.vault.integrity] : SCRIPT_DIGESTS;
  const app = createReadingApp({ ...options, formsLeadTo, scripts }, pages);
  if (webReader) addVault(app, { ...pages, provider }, webReader);
  app.use(limitChanges(limits));
  addAccountPages(app, pages);
  addGiftPages(app, { ...pages, provider, publications, teasers: options.teasers });
  addJoinPages(app, pages);
  addPasskeyPages(app, pages);
  if (openid) addOpenIdPages(app, { ...pages, log, openid, way: openIdCookie(origin) });
  addMailPages(app, pages);
  addTillPages(app, { ...pages, checkout: checkoutCookie(origin), priced: options.priced });
  addOwnAccountPages(app, pages);
  addUnsubscribePage(app, pages);
  app.get(DESCRIPTOR_PATH, sendDescriptor(provider));
  // Browsers ask for it by themselves. The publisher's logo is a published byte, of which there are none here.
  app.get(
    '/favicon.ico',
    (_request, response) => void response.set('Cache-Control', 'max-age=86400').status(204).end(),
  );
  app.use(READING_SITE_PAGES, (request, response) => sendRefusal(pages, request, response, refusalFor('not-found')));
  app.use(named, readingOnly(pages), refuseForeign(pages, isOpened), documentLimit(limits), (request, response) =>
    leadOn(pages, request, response),
  );
  app.use(handleError(options, pages, (_refusal, ...asked) => endFrame(documents, ...asked)));
  return app;
}

/**
 * Leads a window to a document, with its query, if it may be read there; browsers keep what stands behind "#". Where the server decrypts, a
 * reader who is signed in here will be there when it is loaded; in the browser, the reader there asks for keys when a page needs them.
 */
async function leadOn(pages: AccountPages, request: Request, response: Response): Promise<void> {
  const { originalUrl, method } = request;
  if (!originalUrl.startsWith('/')) return sendRefusal(pages, request, response, refusalFor('path-refused'));
  if (await pages.tease(request, response, originalUrl)) return;
  const token = method === 'GET' ? pages.cookie.read(request) : undefined;
  await leadTo(pages, response, token, originalUrl);
}

/** The apps of the key server, not listening: what answers at each door. */
import type { Express } from 'express';
import type { Logger } from 'pino';
import type { WebReaderFiles } from '../node-support/web-reader-files.ts';
import { createAdminSite } from './admin-site/app.ts';
import { createApiApp } from './api/app.ts';
import type { StripeConfig } from './api/subscriptions.ts';
import type { KeyServerConfig } from './config/config.ts';
import type { IsTrustedProxy } from './http/client-address.ts';
import type { RequestLimits } from './http/limits.ts';
import type { Mailer } from './mail/mailer.ts';
import type { Metrics } from './operations/metrics.ts';
import type { Origins } from './publication/import-bundle.ts';
import type { TimestampKeeper } from './publication/keeper.ts';
import type { ProviderReader } from './publication/provider.ts';
import { createReadingSite } from './reading-site/app.ts';
import type { ContentHosts } from './reading-site/content-host.ts';
import { createDocumentsSite } from './reading-site/documents-app.ts';
import type { ReadPublications } from './reading-site/publications.ts';
import type { OpenIdDoor } from './sign-in/openid-configuration.ts';
import type { KeyServerState } from './storage/state.ts';

/** What the apps work with. */
export interface KeyServerDependencies {
  readonly config: KeyServerConfig;
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  readonly origins: Origins;
  /** Origin of the documents that the reading site shows. */
  readonly documents: string;
  readonly log: Logger;
  readonly isTrustedProxy: IsTrustedProxy;
  readonly hosts: ContentHosts;
  readonly publications: ReadPublications;
  readonly keeper: TimestampKeeper;
  readonly metrics: Metrics;
  readonly limits: RequestLimits;
  readonly webReader: WebReaderFiles | undefined;
  readonly stripe: StripeConfig | undefined;
  readonly openid: OpenIdDoor | undefined;
  readonly mailer: Mailer | undefined;
}

export interface KeyServerApps {
  readonly api: Express;
  readonly reading: Express;
  readonly documents: Express;
}

/** The apps of the three doors that are always there. */
export function createApps(dependencies: KeyServerDependencies): KeyServerApps {
  const { config, origins, documents, hosts, publications, keeper, webReader, stripe, mailer } = dependencies;
  return {
    api: createApiApp({ ...commonOf(dependencies, 'api'), origin: origins.keyServer, origins, keeper, stripe, mailer }),
    reading: createReadingSite({
      ...commonOf(dependencies, 'reading'),
      origin: origins.reading,
      documents,
      publications,
      keyServer: origins.keyServer,
      door: dependencies.openid,
      mail: mailer && { mailer, signUp: config.signUp },
      webReader,
    }),
    documents: createDocumentsSite({
      ...commonOf(dependencies, 'documents'),
      origin: documents,
      account: origins.reading,
      hosts,
      publications,
      webReader,
    }),
  };
}

/** The operators' pages. */
export function createOperatorsApp(origin: string, dependencies: KeyServerDependencies): Express {
  const { config, origins } = dependencies;
  return createAdminSite({
    ...commonOf(dependencies, 'admin'),
    config,
    origin,
    origins,
    dev: origin.startsWith('http:'),
  });
}

function commonOf(dependencies: KeyServerDependencies, door: string) {
  const { config, state, log, provider, limits, isTrustedProxy, metrics } = dependencies;
  const count = (route: string, status: number) => metrics.count(door, route, status);
  return { state, log, provider, limits, isTrustedProxy, count, dev: config.dev === true };
}

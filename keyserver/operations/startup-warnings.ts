/** Warnings of a key server that starts, about what will not work for readers. It starts all the same: not all of it is the operator's to mend. */
import type { Logger } from 'pino';
import type { WebReaderFiles } from '../../node-support/web-reader-files.ts';
import type { KeyServerConfig } from '../config/config.ts';
import type { Origins } from '../publication/import-bundle.ts';
import { type Provider, type ProviderReader, siteReadAt } from '../publication/provider.ts';
import { isReadInBrowser } from '../reading-site/in-browser.ts';
import type { KeyServerState } from '../storage/state.ts';
import { warnOfUnknownPlans } from '../subscriptions/named-plans.ts';

interface Parts {
  readonly config: KeyServerConfig;
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  readonly webReader: WebReaderFiles | undefined;
  readonly origins: Origins;
  /** Origin of the documents. */
  readonly documents: string;
  readonly log: Logger;
}

/** Says all of it, once. */
export async function warnAtStart(parts: Parts): Promise<void> {
  const { config, state, provider, webReader, origins, documents, log } = parts;
  const known = await provider.read();
  if (known) {
    warnOfDescriptor(known, parts);
    const isInBrowser = await isReadInBrowser({ webReader, provider, account: origins.reading });
    if (config.reading.documents.inBrowser && !isInBrowser)
      log.warn('the in-browser reader is off: all content hosts have to be https, or on loopback');
  }
  if (new URL(documents).hostname.endsWith(`.${new URL(origins.reading).hostname}`))
    log.warn({ documents }, 'published scripts can ask for passkeys of the account, below whose host they run');
  await warnOfUnknownPlans(config, state, log);
}

/** The descriptor is the publisher's to renew. */
function warnOfDescriptor({ descriptor }: Provider, { state, origins, log }: Parts): void {
  if (descriptor.expires < state.now())
    log.warn('the descriptor has expired: new readers cannot connect until a newer bundle is imported');
  if (descriptor.keyServer !== origins.keyServer || !siteReadAt(descriptor, origins.reading))
    log.warn({ descriptor: descriptor.keyServer }, 'the descriptor names other origins than this key server has');
}

/** Connects this device with a publisher, for the sites that the reader confirms: what `wispr bind` does. */

import type { ConnectTo } from '../content/connect-to.ts';
import type { AllowLocal } from '../content/local-addresses.ts';
import { Upstream } from '../content/upstream.ts';
import { DEFAULT_PORT } from '../listening/listen.ts';
import { askStatusInPassing } from '../running/ask-readers.ts';
import { expectedPort } from '../service/expected-port.ts';
import { chooseSettings } from '../settings/settings.ts';
import { type StorageOptions, storeOptions } from '../store/locations.ts';
import type { KeyPlace } from '../store/protection.ts';
import { ReaderStore } from '../store/store.ts';
import { type BoundResult, type ConnectionRequest, connect, type ProofSettings, propose } from './connection.ts';
import { parseInvitationLink } from './link.ts';

export interface BindOptions extends ProofSettings, StorageOptions {
  /** `URL#CODE`, or the URL alone for a publisher this device is connected with. */
  readonly link: string;
  /** Decides which sites may be connected; asked for sites that were not confirmed before. All, if left out. */
  readonly confirm?: (request: ConnectionRequest) => Promise<readonly string[]>;
  readonly connectTo?: readonly ConnectTo[];
  /** What may be reached on this computer and in its own network. */
  readonly allowLocal?: readonly AllowLocal[];
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string;
}

export interface BoundSites extends BoundResult {
  /** Where the reader's proxy listens; if none runs, where it will, unless it is told otherwise. */
  readonly port: number;
  /** Of the Reader that runs, where one does: whether its keys are locked away, so that it shows nothing of these sites yet. */
  readonly reader: 'none' | 'open' | 'locked';
  /** Where the reader's keys are kept, if that was decided just now, or this is the first publisher: a try before may have failed. */
  readonly keysNowIn: KeyPlace['kind'] | undefined;
}

/**
 * @throws ReaderError, KeyError, PublicationError: whatever was refused, nothing was changed
 */
export async function bindSite(options: BindOptions): Promise<BoundSites> {
  const link = parseInvitationLink(options.link);
  const store = await ReaderStore.open(storeOptions(options));
  try {
    const upstream = new Upstream({ ...options, ...chooseSettings(options, store.preferences) });
    try {
      const means = { store, upstream };
      const proposal = await propose(means, link, options);
      const isFirst = (await store.bindings()).length === 0;
      const bound = await connect(means, proposal, await chooseSites(proposal.request, options));
      const keysNowIn = isFirst ? store.keyPlace : undefined;
      return { ...bound, ...(await readerOn(store, options)), keysNowIn };
    } finally {
      await upstream.close();
    }
  } finally {
    store.close();
  }
}

/** That of the Reader that runs (the first, where there are several), which may have been given another by name, of the service, or of the settings. */
async function readerOn(store: ReaderStore, options: StorageOptions): Promise<Pick<BoundSites, 'port' | 'reader'>> {
  const { directory } = storeOptions(options);
  const [running] = (await askStatusInPassing(directory)).readers;
  const own = running && URL.canParse(running.url) ? Number(new URL(running.url).port) : undefined;
  const port = own || (expectedPort(directory, store.preferences) ?? DEFAULT_PORT);
  if (running === undefined) return { port, reader: 'none' };
  return { port, reader: running.locked ? 'locked' : 'open' };
}

async function chooseSites(request: ConnectionRequest, { confirm }: BindOptions): Promise<readonly string[]> {
  const all = request.sites.map(({ site }) => site);
  return confirm && request.sites.some(({ confirmed }) => !confirmed) ? confirm(request) : all;
}

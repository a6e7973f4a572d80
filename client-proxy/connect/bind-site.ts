/** Connects this device with a publisher, for the sites that the reader confirms: what `wispr bind` does. */

import { DEFAULT_PORT } from '../gateway/label.ts';
import type { ReaderLock } from '../identity/lock.ts';
import type { ConnectTo } from '../network/connect-to.ts';
import { type AllowLocal, parseAllowLocal } from '../network/local-addresses.ts';
import { Upstream } from '../network/upstream.ts';
import { inReader } from '../running/in-reader.ts';
import { expectedPort } from '../running/unit.ts';
import { type StorageOptions, storeOptions } from '../store/locations.ts';
import type { KeyPlace } from '../store/protection.ts';
import { chooseSettings } from '../store/settings.ts';
import { ReaderStore } from '../store/store.ts';
import {
  type BoundResult,
  type ConnectionRequest,
  connect,
  type Means,
  type ProofSettings,
  propose,
} from './connection.ts';
import { parseInvitationLink } from './link.ts';

/** What goes to the Reader that runs. */
interface BindRequest extends ProofSettings {
  /** `URL#CODE`, or the URL alone for a publisher this device is connected with. */
  readonly link: string;
  readonly connectTo?: readonly ConnectTo[];
  /** What may be reached on this computer and in its own network. */
  readonly allowLocal?: readonly AllowLocal[];
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string | undefined;
}

interface BindDialog {
  /** Decides which sites may be connected; asked for sites that were not confirmed before. */
  confirm(request: ConnectionRequest): Promise<readonly string[]>;
}

export interface BindOptions extends BindRequest, StorageOptions {
  /** As {@link BindDialog}. All, if left out. */
  readonly confirm?: BindDialog['confirm'];
}

export interface BoundSites extends BoundResult {
  /** Where the reader's proxy listens; if none runs, where it will, unless it is told otherwise. */
  readonly port: number;
  /** Whether a Reader runs. */
  readonly isRunning: boolean;
  /** Where the reader's keys are kept, if that was decided just now, or this is the first publisher: a try before may have failed. */
  readonly keysNowIn: KeyPlace['kind'] | undefined;
}

/**
 * @throws ReaderError, KeyError, PublicationError: whatever was refused, nothing was changed
 */
export async function bindSite(options: BindOptions): Promise<BoundSites> {
  parseInvitationLink(options.link);
  const { link, trustSites, dnsServers, connectTo = [], allowLocal = [], ca, confirm = allOf } = options;
  const request = { link, trustSites, dnsServers, connectTo, allowLocal, ca };
  const { directory } = storeOptions(options);
  return inReader({ directory, name: 'bind', request, dialog: { confirm } }, async () => {
    const store = await ReaderStore.open(storeOptions(options));
    try {
      const bound = await withUpstream(store, request, { confirm });
      const port = expectedPort(directory, store.preferences) ?? DEFAULT_PORT;
      return { ...bound, port, isRunning: false };
    } finally {
      store.close();
    }
  });
}

/** Of the Reader that runs; what it may reach counts, unless the request says something else. */
export async function bindInReader(
  { store, upstream, lock, url }: Means & { readonly lock: ReaderLock; readonly url: string },
  request: BindRequest,
  dialog: BindDialog,
): Promise<BoundSites> {
  if (lock.isLocked && lock.isEmpty) await lock.unlock(); // everything was forgotten: this makes new keys
  const { connectTo = [], ca } = request;
  const allowLocal = (request.allowLocal ?? []).map(({ text }) => parseAllowLocal(text));
  const hasOwn = connectTo.length > 0 || allowLocal.length > 0 || ca !== undefined;
  const bound = hasOwn
    ? await withUpstream(store, { ...request, allowLocal }, dialog)
    : await bindIn({ store, upstream }, request, dialog);
  return { ...bound, port: Number(new URL(url).port), isRunning: true };
}

type Bound = Omit<BoundSites, 'port' | 'isRunning'>;

async function withUpstream(store: ReaderStore, request: BindRequest, dialog: BindDialog): Promise<Bound> {
  const upstream = new Upstream({ ...request, ...chooseSettings(request, store.preferences) });
  try {
    return await bindIn({ store, upstream }, request, dialog);
  } finally {
    await upstream.close();
  }
}

async function bindIn(means: Means, request: BindRequest, { confirm }: BindDialog): Promise<Bound> {
  const { store } = means;
  const proposal = await propose(means, parseInvitationLink(request.link), request);
  const isFirst = (await store.bindings()).length === 0;
  const isOpen = proposal.request.sites.some(({ confirmed }) => !confirmed);
  const bound = await connect(means, proposal, await (isOpen ? confirm : allOf)(proposal.request));
  return { ...bound, keysNowIn: isFirst ? store.keyPlace?.kind : undefined };
}

async function allOf({ sites }: ConnectionRequest): Promise<readonly string[]> {
  return sites.map(({ site }) => site);
}

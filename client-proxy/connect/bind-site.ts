/** Connects this device with a publisher, for the sites that the reader confirms: what `wispr bind` does. */
import { inReader } from '../running/in-reader.ts';
import { type StorageOptions, storeOptions } from '../store/locations.ts';
import type { KeyLocation } from '../store/protection.ts';
import { SettingsKeeper } from '../store/settings.ts';
import { ReaderStore } from '../store/store.ts';
import { type BoundResult, type ConnectionRequest, connect, type Means, propose } from './connection.ts';
import { isCodeAlone, readInvitation } from './invitation.ts';
import { parseInvitationLink } from './link.ts';
import type { ProofSettings } from './prove.ts';
import { type Reach, reaching } from './reach.ts';

interface BindRequest extends ProofSettings, Reach {
  /** `URL#CODE.ROOT`; the key server's URL alone for a publisher that this device is connected with; or a code alone. */
  readonly link: string;
  /** Site of a code without a link. */
  readonly site?: string | undefined;
}

interface BindDialog {
  /** Decides which sites may be connected; asked for sites that were not confirmed before. */
  confirm(request: ConnectionRequest): Promise<readonly string[]>;
}

export interface BindOptions extends BindRequest, StorageOptions {
  readonly confirm?: BindDialog['confirm'];
}

export interface BindingSummary extends BoundResult {
  /** Port of the running Reader, or else that of its settings, if they have one. */
  readonly port: number | undefined;
  readonly isRunning: boolean;
  /** Place of the reader's keys, if it was decided just now, or this is the first publisher: a try before may have failed. */
  readonly keysNowIn: KeyLocation['kind'] | undefined;
}

/** @throws ReaderError, KeyError, PublicationError: whatever was refused, nothing was changed */
export async function bindSite(options: BindOptions): Promise<BindingSummary> {
  if (!isCodeAlone(options.link)) parseInvitationLink(options.link);
  const { link, site, trustSites, dnsServers, connectTo = [], allowLocal = [], ca, confirm = allOf } = options;
  const request = { link, site, trustSites, dnsServers, connectTo, allowLocal, ca };
  const { directory } = storeOptions(options);
  return inReader({ directory, name: 'bind', request, dialog: { confirm } }, async () => {
    using store = await ReaderStore.open(storeOptions(options));
    const bound = await reaching({ store }, request, (upstream) => bindIn({ store, upstream }, request, { confirm }));
    return { ...bound, port: new SettingsKeeper(store.preferences).current.port, isRunning: false };
  });
}

/** Part of the lock that is needed to start afresh. */
interface Lock {
  readonly isLocked: boolean;
  readonly isEmpty: boolean;
  unlock(): Promise<void>;
}

/** Connects in the running Reader, with the network options of that Reader unless the request has its own. */
export async function bindInReader(
  { store, upstream, lock, url }: Means & { readonly lock: Lock; readonly url: string },
  request: BindRequest,
  dialog: BindDialog,
): Promise<BindingSummary> {
  if (lock.isLocked && lock.isEmpty) await lock.unlock(); // everything was forgotten: this makes new keys
  const bound = await reaching({ store, running: upstream }, request, (upstream) =>
    bindIn({ store, upstream }, request, dialog),
  );
  return { ...bound, port: Number(new URL(url).port), isRunning: true };
}

type Bound = Omit<BindingSummary, 'port' | 'isRunning'>;

async function bindIn(means: Means, request: BindRequest, { confirm }: BindDialog): Promise<Bound> {
  const { store } = means;
  const invitation = await readInvitation(means.upstream, request.link, request.site, request.dnsServers);
  const proposal = await propose(means, invitation, request);
  const isFirst = (await store.bindings()).length === 0;
  const isOpen = proposal.request.sites.some(({ confirmed }) => !confirmed);
  const bound = await connect(means, proposal, await (isOpen ? confirm : allOf)(proposal.request));
  return { ...bound, keysNowIn: isFirst ? store.keyLocation?.kind : undefined };
}

async function allOf({ sites }: ConnectionRequest): Promise<readonly string[]> {
  return sites.map(({ site }) => site);
}

/** A key server on loopback with a publisher, a content host and a site, all real; everything is closed by `close()`. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { KeyIssuer } from '../../core/keys/device.ts';
import { DESCRIPTOR_TARGET } from '../../core/publication/names.ts';
import type { KeyServerConfig } from '../../keyserver/config/config.ts';
import type { RequestLimits } from '../../keyserver/http/limits.ts';
import { importBundle } from '../../keyserver/publication/import-bundle.ts';
import { readProviderRow } from '../../keyserver/publication/provider.ts';
import { decideKeys, standingRights } from '../../keyserver/readers/entitlement.ts';
import { type Invitation, type InvitationRequest, inviteSubscriber } from '../../keyserver/readers/invitations.ts';
import { type RunningKeyServer, startKeyServer } from '../../keyserver/server.ts';
import { findSubscriber } from '../../keyserver/subscriptions/subscribers.ts';
import { type ContentHost, startContentHost } from './content-host.ts';
import { forFile } from './for-file.ts';
import { createPublisher, type PublisherWithSets, SITE, sealBundle } from './publisher-with-sets.ts';
import { createReader, type Reader } from './reading-site-visitor.ts';
import { storeIn } from './store.ts';
import { temporaryFolder } from './temporary-folder.ts';

export { temporaryFolder } from './temporary-folder.ts';

/** Any port of this machine. */
export const listen = { host: '127.0.0.1', port: 0 };

export interface Rig {
  readonly folder: string;
  readonly config: KeyServerConfig;
  readonly server: RunningKeyServer;
  readonly publisher: PublisherWithSets;
  readonly host: ContentHost;
  /** Issuer that devices bind to. */
  readonly provider: KeyIssuer;
  /** Returns what the key server logged. */
  readonly log: () => string;
  readonly invite: (request: InvitationRequest) => Promise<Invitation>;
  /** The code of an invitation. */
  readonly codeFor: (name: string, request?: Omit<InvitationRequest, 'name'>) => Promise<string>;
  /** A browser that has joined by an invitation. */
  readonly join: (name: string, request?: Omit<InvitationRequest, 'name'>, password?: string) => Promise<Reader>;
  /** Finds the publisher's sets of which a subscriber gets keys, as a key request does. */
  readonly readableBy: (name: string) => Promise<string[]>;
  /** The number of a subscriber; 0, if there is none. */
  readonly idOf: (name: string) => Promise<number>;
  /** Writes the configuration, as commands read it. @returns the file */
  readonly writeConfig: () => string;
  /** Moves the key server's clock. */
  readonly passTime: (seconds: number) => void;
  readonly close: () => Promise<void>;
}

/** A log, and what was written to it. */
export function logged() {
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  return { log, text: () => lines.join('') };
}

export function configIn(folder: string): KeyServerConfig {
  return {
    dev: true,
    listen,
    reading: { listen, documents: { listen, inBrowser: false } },
    data: join(folder, 'keyserver.db'),
    masterKey: join(folder, 'master.key'),
    publicKey: join(folder, 'keyserver.pub'),
  };
}

/** Writes a `keyserver.json` as operators have it; ports are free ones, unless `changes` name others. */
export function writeServerConfig(folder: string, changes: Record<string, unknown> = {}): void {
  const paths = { data: 'keyserver.db', masterKey: 'master.key', publicKey: 'keyserver.pub' };
  const config = { listen, reading: { listen, documents: { listen } }, ...paths, ...changes };
  writeFileSync(join(folder, 'keyserver.json'), JSON.stringify(config));
}

/**
 * The same at ports of this machine that stay, so that what names them stays true.
 * Ports are of `freePort()`: a number that port 0 once gave may be anybody's outgoing connection by the next start.
 */
export function writeConfigAt(folder: string, [keys, reading, documents = 0]: readonly number[], changes = {}): void {
  const at = (port = 0) => ({ listen: { host: '127.0.0.1', port } });
  const listeners = { ...at(keys), reading: { ...at(reading), documents: { ...at(documents), inBrowser: false } } };
  writeServerConfig(folder, { ...listeners, ...changes });
}

/** Names the key server's descriptor in the publication to come. */
export async function nameDescriptor({ server, publisher }: Pick<Rig, 'publisher' | 'server'>): Promise<void> {
  const { descriptor } = (await readProviderRow(server.state.database)) ?? {};
  if (descriptor) publisher.publication.wholeFiles.set(DESCRIPTOR_TARGET, descriptor);
}

export interface RigOptions {
  limits?: Partial<RequestLimits>;
  sets?: readonly string[];
  config?: Partial<KeyServerConfig>;
  /** Content hosts that are asked before the good one. */
  before?: readonly string[];
  /** Origins of the content hosts, instead of the good one's. */
  content?: readonly string[];
  /** Time of the clock, in seconds since 1970. */
  startAt?: number;
}

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const folder = temporaryFolder();
  const host = await startContentHost();
  const publisher = await createPublisher(options.sets);
  const own = { ...configIn(folder), ...(await storeIn(folder)), fetchFrom: { [SITE]: host.origin } };
  const config = { ...own, ...options.config };
  const { log, text } = logged();
  // The clock stands still: what a test signs twice is the same, at the end of a second too.
  let now = options.startAt ?? Math.floor(Date.now() / 1000);
  const server = await startKeyServer(config, { log, limits: { ...GENEROUS, ...options.limits }, now: () => now });
  const origins = { keyServer: server.url, reading: server.readingUrl };
  const content = options.content ?? [...(options.before ?? []), host.origin];
  const bundle = await sealBundle(publisher, server.state.recipient.publicKey, { ...origins, content });
  await importBundle(server.state, bundle, server.origins);
  publisher.afterPublishing = () => server.publications.check();
  return {
    folder,
    config,
    server,
    publisher,
    host,
    provider: { keyServer: server.url, publisher: publisher.root.id },
    log: text,
    invite: (request) => inviteSubscriber(server.state, request),
    codeFor: async (name, request) => (await inviteSubscriber(server.state, { name, ...request })).code,
    join: async (name, request, password) => {
      const reader = createReader(server);
      const { status } = await reader.join((await inviteSubscriber(server.state, { name, ...request })).code, password);
      if (status >= 400) throw new Error(`${name} cannot join: ${status}`);
      return reader;
    },
    readableBy: async (name) => {
      const subscriber = await findSubscriber(server.state.database, name);
      if (!subscriber) throw new Error(`no ${name}`);
      const [sets, rights] = [[...publisher.sets], await standingRights(server.state, subscriber)];
      const decisions = await decideKeys(
        server.state,
        await server.state.memory.current(),
        rights,
        sets.map(([, { id }]) => id),
      );
      return sets.flatMap(([set], index) => (decisions[index]?.denied === undefined ? [set] : []));
    },
    idOf: async (name) => (await findSubscriber(server.state.database, name))?.id ?? 0,
    writeConfig: () => {
      const file = join(folder, 'keyserver.json');
      writeFileSync(file, JSON.stringify({ ...config, dev: undefined }));
      return file;
    },
    passTime: (seconds) => {
      now += seconds;
    },
    close: async () => {
      await server.close();
      await host.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** A key server of its own for the test that runs. */
export async function rigForTest(...options: Parameters<typeof startRig>): Promise<Rig> {
  const rig = await startRig(...options);
  onTestFinished(rig.close);
  return rig;
}

/** A key server for all tests of a file; it is there once its hooks run. @param options - or what makes them, once hooks run */
export function rigForFile(options: RigOptions | (() => RigOptions | Promise<RigOptions>) = {}): Rig {
  return forFile(async () => startRig(typeof options === 'function' ? await options() : options));
}

/** Tests all come from one address. */
const GENEROUS: Partial<RequestLimits> = {
  ...{ requestsPerAddress: 1_000_000, changesPerAddress: 10_000, documentsPerAddress: 10_000 },
  ...{ metadataPerAddress: 10_000, subscriptionsPerAddress: 10_000, bindingsPerAddress: 1000, joinsPerAddress: 1000 },
  ...{ keyRequestsPerAddress: 1000, publishingPerAddress: 1000, publishingRefusals: 1000 },
  ...{ signInsPerNameAndAddress: 1000, signInsPerAddress: 1000, signInsPerName: 1000, signInsPerKnownBrowser: 1000 },
  ...{ mailsPerNameAndAddress: 1000, mailsPerAddress: 1000, mailsPerName: 1000, mailsPerKnownBrowser: 1000 },
};

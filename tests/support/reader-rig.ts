/** A reader with everything around them: publisher, content host, key server, a bound and running proxy, in a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  bindSite,
  type ProxyOptions,
  parseConnectTo,
  type RunningProxy,
  startProxy,
} from '../../client-proxy/index.ts';
import { type ContentHost, startContentHost } from './content-host.ts';
import { KeyServerPeer, type PeerOptions } from './key-server-peer.ts';
import { TestPublisher } from './test-publisher.ts';

export interface ReaderRig {
  readonly directory: string;
  readonly storage: { readonly dataDirectory: string; readonly keyFile: string };
  readonly publisher: TestPublisher;
  readonly host: ContentHost;
  readonly keyServer: KeyServerPeer;
  readonly proxy: RunningProxy;
  /** Every refusal: code and address. */
  readonly refusals: { code: string; address: string }[];
  /** Absolute URL of a path of the site. */
  url(path: string): string;
  close(): Promise<void>;
}

/** Something to be done when a test is over, last first. */
export class CleanUp {
  readonly #tasks: (() => Promise<unknown>)[] = [];

  add(task: () => Promise<unknown>): void {
    this.#tasks.push(task);
  }

  async run(): Promise<void> {
    for (const task of this.#tasks.splice(0).reverse()) await task();
  }
}

/** A folder that goes away again. */
export async function temporaryFolder(cleanUp: CleanUp): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'wispr-reader-'));
  cleanUp.add(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

export function storageIn(directory: string) {
  return { dataDirectory: join(directory, 'data'), keyFile: join(directory, 'config', 'reader.key') };
}

export async function startReaderRig(
  options: { site?: string; proxy?: Partial<ProxyOptions>; peer?: PeerOptions; bind?: boolean } = {},
): Promise<ReaderRig> {
  const cleanUp = new CleanUp();
  const directory = await temporaryFolder(cleanUp);
  const storage = storageIn(directory);
  const publisher = await TestPublisher.create(options.site);
  const host = await startContentHost();
  cleanUp.add(host.close);
  const keyServer = await KeyServerPeer.start(publisher, options.peer);
  cleanUp.add(() => keyServer.close());
  if (options.bind !== false) await bindSite({ ...storage, link: keyServer.invite(), trustSites: [publisher.site] });
  const refusals: ReaderRig['refusals'] = [];
  const proxy = await startProxy({
    ...storage,
    port: 0,
    connectTo: [parseConnectTo(`:80:127.0.0.1:${host.port}`)], // every host, on port 80
    onRefusal: ({ code }, address) => refusals.push({ code, address }),
    ...options.proxy,
  });
  cleanUp.add(proxy.close);
  const url = (path: string) => `http://${publisher.site}${path}`;
  return { directory, storage, publisher, host, keyServer, proxy, refusals, url, close: () => cleanUp.run() };
}

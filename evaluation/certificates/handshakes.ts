/** Handshakes between `openssl s_client` on the near side and nginx on the far one, directly or by way of the relays. */
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE, runToReady, WISPR } from '../../bench/processes.ts';
import { otherReference, startCounter } from '../../tests/support/link-counter.ts';
import { type Crossing, measureCrossing } from '../crossing.ts';
import { FAR, type LinkKind, type NarrowLink, NEAR } from '../link/narrow-link.ts';
import type { Protocol, Reached } from './far.ts';
import { FAR_RELAY_PORT, NEAR_RELAY_PORT, SERVER } from './setting.ts';

/** A way to a handshake; in the order of {@link WAYS}, each second one follows its first. */
export interface HandshakeWay {
  readonly name: string;
  readonly protocol: Protocol;
  /** `miss`: the link changes a reference, so that the handshake fails; and the next, which is plain. */
  readonly by: 'directly' | 'first visit' | 'second visit' | 'resumed' | 'miss';
}

const throughRelays = (protocol: Protocol, name: string): HandshakeWay[] => [
  { name: `${name}, plain`, protocol, by: 'directly' },
  { name: `${name}, relays, first visit`, protocol, by: 'first visit' },
  { name: `${name}, relays, second visit`, protocol, by: 'second visit' },
];
export const WAYS: readonly HandshakeWay[] = [
  ...throughRelays('TLS 1.2', 'TLS 1.2'),
  ...throughRelays('TLS 1.2, client certificate', 'client certificate'),
  { name: 'TLS 1.3, full', protocol: 'TLS 1.3', by: 'directly' },
  { name: 'TLS 1.3, resumed', protocol: 'TLS 1.3', by: 'resumed' },
];

/** Time longer than a handshake on 2,400 bit/s. */
const PATIENCE = 120_000;

export class Handshakes {
  readonly #link: NarrowLink;
  readonly #servers: Readonly<Record<string, Reached>>;
  readonly #directory: string;
  #relays: readonly { stop: () => Promise<unknown> }[] = [];

  constructor(link: NarrowLink, servers: Readonly<Record<string, Reached>>, directory: string) {
    this.#link = link;
    this.#servers = servers;
    this.#directory = directory;
  }

  /** Measures one handshake over a link of this kind, or two after a miss. The link is a loopback again afterwards. */
  async measure(kind: LinkKind, server: string, way: HandshakeWay): Promise<Crossing> {
    if (way.by === 'first visit' || way.by === 'miss') await this.#renewRelays(way.by === 'miss');
    const args = this.#argumentsFor(server, way);
    if (way.by === 'miss') await (await this.#connect(args))();
    return measureCrossing(this.#link, kind, async (hasEnded) => {
      const start = performance.now();
      if (way.by === 'miss') {
        const hasFailed = await this.#connect(args).then(
          (close) => close().then(() => false),
          () => true,
        );
        if (!hasFailed) throw new Error('the changed reference did no harm');
      }
      const close = await this.#connect(args);
      const milliseconds = performance.now() - start;
      await hasEnded().finally(close);
      return milliseconds;
    });
  }

  /** Waits for a connection. @returns closes it @throws Error with what the client said */
  async #connect(args: readonly string[]): Promise<() => Promise<void>> {
    const client = this.#link.spawnNear('openssl', args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const timer = setTimeout(() => client.kill(), PATIENCE);
    const closed = once(client, 'close').finally(() => clearTimeout(timer));
    let said = '';
    const isEstablished = new Promise<boolean>((resolve) => {
      client.stderr?.setEncoding('utf8').on('data', (text: string) => {
        said += text;
        if (said.includes('CONNECTION ESTABLISHED')) resolve(true);
      });
      void closed.then(() => resolve(false));
    });
    if (!(await isEstablished)) throw new Error(`${args.join(' ')}: ${said}`);
    return async () => {
      client.stdin?.end();
      await closed;
    };
  }

  #argumentsFor(server: string, { protocol, by }: HandshakeWay): string[] {
    const reached = this.#servers[server];
    if (reached === undefined) throw new Error(`there is no server ${server}`);
    const { chain, client, ports } = reached;
    const session = join(this.#directory, `${server}.session`);
    const isNewest = protocol === 'TLS 1.3';
    return [
      ...['s_client', '-brief', '-verify_return_error', '-CAfile', chain.rootFile, '-servername', SERVER],
      ...['-connect', `${FAR}:${ports[protocol]}`, isNewest ? '-tls1_3' : '-tls1_2'],
      ...(by.endsWith('visit') || by === 'miss' ? ['-proxy', `127.0.0.1:${NEAR_RELAY_PORT}`] : []),
      ...(isNewest ? [by === 'resumed' ? '-sess_in' : '-sess_out', session] : []),
      ...(protocol === 'TLS 1.2, client certificate' && client
        ? ['-cert', client.certFile, '-key', client.keyFile, '-cert_chain', client.issuingFile]
        : []),
    ];
  }

  /** A pair of relays that remembers nothing. @param altering - whether the first reference that crosses between them is changed */
  async #renewRelays(altering: boolean): Promise<void> {
    await this.stop();
    const folder = await mkdtemp(join(this.#directory, 'relays-'));
    const relay = (side: string, ...args: string[]) => [WISPR, 'link', side, '--json', '--quiet', ...args];
    const far = relay(
      'far',
      '--listen',
      `${FAR}:${FAR_RELAY_PORT}`,
      '--from',
      NEAR,
      '--from',
      FAR,
      '--allow-local',
      FAR,
    );
    this.#relays = [await runToReady([NODE, ...far], folder)];
    const counter = altering ? await startCounter(FAR_RELAY_PORT, otherReference, FAR) : undefined;
    if (counter) this.#relays = [...this.#relays, { stop: counter.close }];
    const to = `${FAR}:${counter?.port ?? FAR_RELAY_PORT}`;
    const near = relay('near', '--far', to, '--listen', `127.0.0.1:${NEAR_RELAY_PORT}`);
    const [command, args] = this.#link.near(NODE, near);
    this.#relays = [...this.#relays, await runToReady([command, ...args], folder)];
  }

  async stop(): Promise<void> {
    for (const relay of this.#relays) await relay.stop();
    this.#relays = [];
  }
}

/** Handshakes between `openssl s_client` on the near side and nginx on the far one, directly or by way of the relays. */
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { NODE, type Ready, runToReady, WISPR } from '../../bench/processes.ts';
import type { KeyKind } from '../../tests/support/certificates.ts';
import { type Crossing, measureCrossing } from '../crossing.ts';
import { FAR, type LinkKind, type NarrowLink, NEAR } from '../link/narrow-link.ts';
import type { FarSide, Protocol } from './far.ts';
import { FAR_RELAY_PORT, NEAR_RELAY_PORT, SERVER } from './setting.ts';

/** What is measured of one protocol: in this order, each second one follows its first. */
export interface HandshakeWay {
  readonly name: string;
  readonly protocol: Protocol;
  readonly by: 'directly' | 'first visit' | 'second visit' | 'resumed';
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

/** Longer than a handshake on 2,400 bit/s. */
const PATIENCE = 120_000;

export class Handshakes {
  readonly #link: NarrowLink;
  readonly #far: FarSide;
  readonly #directory: string;
  #relays: readonly Ready[] = [];

  constructor(link: NarrowLink, far: FarSide, directory: string) {
    this.#link = link;
    this.#far = far;
    this.#directory = directory;
  }

  /** One handshake over a link of this kind. The link is a loopback again afterwards. */
  async measure(kind: LinkKind, key: KeyKind, way: HandshakeWay): Promise<Crossing> {
    if (way.by === 'first visit') await this.#renewRelays();
    const args = this.#argumentsFor(key, way);
    return measureCrossing(this.#link, kind, async (hasEnded) => {
      const start = performance.now();
      const client = this.#link.spawnNear('openssl', args, { stdio: ['pipe', 'pipe', 'pipe'] });
      const timer = setTimeout(() => client.kill(), PATIENCE);
      let said = '';
      const established = new Promise<number>((resolve, reject) => {
        const failed = () => reject(new Error(`${way.name} on ${kind.name}: ${said}`));
        client.stderr?.setEncoding('utf8').on('data', (text: string) => {
          said += text;
          if (said.includes('CONNECTION ESTABLISHED')) resolve(performance.now() - start);
        });
        client.once('close', failed);
      });
      try {
        const milliseconds = await established;
        await hasEnded();
        return milliseconds;
      } finally {
        clearTimeout(timer);
        client.stdin?.end();
        if (client.exitCode === null && client.signalCode === null) await once(client, 'close');
      }
    });
  }

  #argumentsFor(key: KeyKind, { protocol, by }: HandshakeWay): string[] {
    const { chain, client, ports } = this.#far.servers[key];
    const session = join(this.#directory, `${key}.session`);
    const isNewest = protocol === 'TLS 1.3';
    return [
      ...['s_client', '-brief', '-verify_return_error', '-CAfile', chain.rootFile, '-servername', SERVER],
      ...['-connect', `${FAR}:${ports[protocol]}`, isNewest ? '-tls1_3' : '-tls1_2'],
      ...(by.endsWith('visit') ? ['-proxy', `127.0.0.1:${NEAR_RELAY_PORT}`] : []),
      ...(isNewest ? [by === 'resumed' ? '-sess_in' : '-sess_out', session] : []),
      ...(protocol === 'TLS 1.2, client certificate'
        ? ['-cert', client.certFile, '-key', client.keyFile, '-cert_chain', client.issuingFile]
        : []),
    ];
  }

  /** A pair of relays that remembers nothing. */
  async #renewRelays(): Promise<void> {
    await this.stop();
    const folder = await mkdtemp(join(this.#directory, 'relays-'));
    const relay = (side: string, ...args: string[]) => [WISPR, 'link', side, '--json', '--quiet', ...args];
    const far = relay('far', '--listen', `${FAR}:${FAR_RELAY_PORT}`, '--from', NEAR, '--allow-local', FAR);
    const near = relay('near', '--far', `${FAR}:${FAR_RELAY_PORT}`, '--listen', `127.0.0.1:${NEAR_RELAY_PORT}`);
    const [command, args] = this.#link.near(NODE, near);
    this.#relays = [await runToReady([NODE, ...far], folder), await runToReady([command, ...args], folder)];
  }

  async stop(): Promise<void> {
    for (const relay of this.#relays) await relay.stop();
    this.#relays = [];
  }
}

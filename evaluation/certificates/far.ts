/** The far side: nginx with each kind of chain, by TLS 1.2, TLS 1.2 with client certificates, and TLS 1.3; HTTPS before a key server. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startServer } from '../../bench/key-clients.ts';
import type { MeasuredServer } from '../../bench/key-server.ts';
import { runNginx } from '../../bench/nginx.ts';
import { type Chain, type KeyKind, makeChain } from '../../tests/support/certificates.ts';
import { FAR } from '../link/narrow-link.ts';
import { HTTPCRYPT_PORT, KEYS_PORT, SERVER } from './setting.ts';

const PROTOCOLS = ['TLS 1.2', 'TLS 1.2, client certificate', 'TLS 1.3'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface Servers {
  readonly chain: Chain;
  readonly client: Chain;
  readonly ports: Readonly<Record<Protocol, number>>;
}

/** Facts of servers that a handshake needs. */
export type Reached = Pick<Servers, 'ports'> & {
  readonly chain: Pick<Chain, 'rootFile'>;
  readonly client?: Chain;
};

export interface FarSide {
  readonly servers: Readonly<Record<KeyKind, Servers>>;
  readonly facts: MeasuredServer;
}

export async function startFarSide(directory: string, endings: AsyncDisposableStack): Promise<FarSide> {
  const [keys, home] = [join(directory, 'key-server'), join(directory, 'nginx')];
  await Promise.all([keys, home].map((folder) => mkdir(folder)));
  const { facts, stop } = await startServer(['sqlite', keys, String(HTTPCRYPT_PORT)]);
  endings.defer(stop);
  const servers = { rsa: await serversOf('rsa', 9100, directory), ecdsa: await serversOf('ecdsa', 9200, directory) };
  const blocks = [...Object.values(servers).flatMap(blocksOf), ...listenersOf(facts.origin, servers.ecdsa.chain)];
  const nginx = await runNginx(home, `access_log off;\n  ${blocks.join('\n  ')}`);
  endings.defer(() => nginx.stop());
  return { servers, facts };
}

export async function serversOf(kind: KeyKind, port: number, directory: string): Promise<Servers> {
  const chain = await makeChain(directory, `server-${kind}`, kind, [`DNS:${SERVER}`]);
  const client = await makeChain(directory, `client-${kind}`, kind, ['DNS:person.example']);
  return { chain, client, ports: { 'TLS 1.2': port, 'TLS 1.2, client certificate': port + 1, 'TLS 1.3': port + 2 } };
}

/** HTTPS, and HTTPCrypt, for which nginx is one more proxy in the path. */
function listenersOf(origin: string, chain: Chain): string[] {
  const passed = (to: string) => `location / { proxy_pass ${to}; }`;
  return [
    `server { listen ${KEYS_PORT} ssl; ${identity(chain)} ssl_protocols TLSv1.3; ${passed(origin)} }`,
    `server { listen ${FAR}:${HTTPCRYPT_PORT}; ${passed(`http://127.0.0.1:${HTTPCRYPT_PORT}`)} }`,
  ];
}

export function identity({ certFile, keyFile }: Pick<Chain, 'certFile' | 'keyFile'>): string {
  return `ssl_certificate ${certFile}; ssl_certificate_key ${keyFile};`;
}

export function blocksOf({ chain, client, ports }: Servers): string[] {
  const more: Readonly<Record<Protocol, string>> = {
    'TLS 1.2': 'ssl_protocols TLSv1.2;',
    'TLS 1.2, client certificate': `ssl_protocols TLSv1.2; ssl_verify_client on; ssl_verify_depth 3; ssl_client_certificate ${client.rootFile};`,
    'TLS 1.3': 'ssl_protocols TLSv1.3;',
  };
  return PROTOCOLS.map((protocol) => `server { listen ${ports[protocol]} ssl; ${identity(chain)} ${more[protocol]} }`);
}

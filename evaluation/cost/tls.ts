/** nginx with protected objects: as they are, by sendfile, and by TLS 1.3 with each of its ciphers. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { measureTree } from '../../bench/load.ts';
import { measureLoads } from '../../bench/measure.ts';
import { runNginx } from '../../bench/nginx.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import { type Child, freePort } from '../../cache-config/child.ts';
import { type Chain, type KeyKind, makeChain } from '../../tests/support/certificates.ts';
import { IS_QUICK } from '../quick.ts';

const RUNS = IS_QUICK ? 1 : 3;
const SECONDS = 3;
const SMALL = 1024;
const LARGE = 1024 * 1024;
/** Bytes of a transaction in the paper. */
export const TRANSACTION = 140 * 1024;
/** A byte takes so many nanoseconds of a link of 10 Gbit/s. */
const BYTE_AT_10_GBIT = 0.8;
export const ECDSA = 'nginx, TLS, AES-128-GCM, ECDSA';
export const RSA = 'nginx, TLS, AES-128-GCM, RSA';

/** Nanoseconds of nginx. */
export interface Serving {
  readonly name: string;
  readonly byte: number;
  /** Number that fills 10 Gbit/s. */
  readonly cores: number;
  /** Cost of 140 KB over a connection of its own, with a whole handshake where there is one. */
  readonly transaction: number;
}

interface Listener {
  readonly name: string;
  readonly port: number;
  readonly tls?: { readonly suite: string; readonly chain: Chain };
}

export async function serving(): Promise<Serving[]> {
  await using endings = new AsyncDisposableStack();
  const directory = await temporaryFolder('cost-tls', endings);
  const lengths = { small: SMALL, transaction: TRANSACTION, large: LARGE };
  const root = join(directory, 'root');
  await mkdir(root);
  // A protected object is nothing but bytes to a server.
  for (const [name, length] of Object.entries(lengths)) await writeFile(join(root, name), randomBytes(length));
  const listeners = await listenersIn(directory);
  const { pid, stop } = await startNginx(directory, root, listeners);
  endings.defer(stop);
  return await measure(pid, listeners); // nginx ends when this function returns
}

async function listenersIn(directory: string): Promise<Listener[]> {
  const chainOf = (kind: KeyKind) => makeChain(directory, kind, kind, ['DNS:localhost']);
  const [ecdsa, rsa] = [await chainOf('ecdsa'), await chainOf('rsa')];
  const tls = async (name: string, suite: string, chain: Chain) => ({
    name,
    port: await freePort(),
    tls: { suite, chain },
  });
  return [
    { name: 'nginx, protected object', port: await freePort() },
    await tls(ECDSA, 'TLS_AES_128_GCM_SHA256', ecdsa),
    await tls('nginx, TLS, AES-256-GCM, ECDSA', 'TLS_AES_256_GCM_SHA384', ecdsa),
    await tls('nginx, TLS, ChaCha20, ECDSA', 'TLS_CHACHA20_POLY1305_SHA256', ecdsa),
    await tls(RSA, 'TLS_AES_128_GCM_SHA256', rsa),
  ];
}

function startNginx(directory: string, root: string, listeners: readonly Listener[]): Promise<Child> {
  const server = ({ port, tls }: Listener) => {
    const how = tls
      ? `listen 127.0.0.1:${port} ssl; ssl_certificate ${tls.chain.certFile}; ssl_certificate_key ${tls.chain.keyFile}; ssl_conf_command Ciphersuites ${tls.suite};`
      : `listen 127.0.0.1:${port};`;
    return `server { ${how} root ${root}; }`;
  };
  // Sessions are not resumed: each transaction has a handshake.
  return runNginx(
    directory,
    `access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  ssl_protocols TLSv1.3; ssl_session_tickets off; ssl_session_cache off;
  ${listeners.map(server).join('\n  ')}`,
  );
}

async function measure(pid: number, listeners: readonly Listener[]): Promise<Serving[]> {
  const loads = listeners.flatMap(({ name, port, tls }) => {
    const load = (file: string, ...args: string[]) => ({
      name: `${name}, ${file}`,
      run: () => measureTree(pid, `${tls ? 'https' : 'http'}://127.0.0.1:${port}/${file}`, SECONDS, args),
    });
    return [load('small'), load('large'), load('transaction', '-H', 'Connection: close')];
  });
  const times = (await measureLoads(loads, RUNS)).map(({ processorTime }) => processorTime * 1000);
  return listeners.map(({ name }, index) => {
    const [small = Number.NaN, large = Number.NaN, transaction = Number.NaN] = times.slice(3 * index);
    const byte = (large - small) / (LARGE - SMALL);
    return { name, byte, cores: byte / BYTE_AT_10_GBIT, transaction };
  });
}

/** nginx with protected objects: as they are, by sendfile, and by TLS 1.3 with each of its ciphers. */
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { measureTree } from '../../bench/load.ts';
import { runNginx } from '../../bench/nginx.ts';
import { temporaryFolder } from '../../bench/workspace.ts';
import { type Child, freePort } from '../../cache-config/child.ts';
import { type Chain, type KeyKind, makeChain } from '../../tests/support/certificates.ts';
import { medianOf } from './programs.ts';

const SECONDS = 4;
const SMALL = 1024;
const LARGE = 1024 * 1024;
/** Bytes of a transaction in the paper. */
const TRANSACTION = 140 * 1024;

/** Nanoseconds of nginx. */
export interface Serving {
  readonly name: string;
  readonly byte: number;
  /** Of 140 KB over a connection of its own, with a whole handshake where there is one. */
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
  // What a protected object is to a server: bytes.
  for (const [name, length] of Object.entries(lengths)) await writeFile(join(root, name), randomBytes(length));
  const listeners = await listenersIn(directory);
  const { pid, stop } = await startNginx(directory, root, listeners);
  endings.defer(stop);
  const found: Serving[] = [];
  for (const listener of listeners) found.push(await measure(pid, listener));
  return found;
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
    await tls('nginx, TLS, AES-128-GCM, ECDSA', 'TLS_AES_128_GCM_SHA256', ecdsa),
    await tls('nginx, TLS, AES-256-GCM, ECDSA', 'TLS_AES_256_GCM_SHA384', ecdsa),
    await tls('nginx, TLS, ChaCha20, ECDSA', 'TLS_CHACHA20_POLY1305_SHA256', ecdsa),
    await tls('nginx, TLS, AES-128-GCM, RSA', 'TLS_AES_128_GCM_SHA256', rsa),
  ];
}

function startNginx(directory: string, root: string, listeners: readonly Listener[]): Promise<Child> {
  const server = ({ port, tls }: Listener) => {
    const how = tls
      ? `listen 127.0.0.1:${port} ssl; ssl_certificate ${tls.chain.certFile}; ssl_certificate_key ${tls.chain.keyFile}; ssl_conf_command Ciphersuites ${tls.suite};`
      : `listen 127.0.0.1:${port};`;
    return `server { ${how} root ${root}; }`;
  };
  // No session is resumed: each transaction has a handshake.
  return runNginx(
    directory,
    `access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  ssl_protocols TLSv1.3; ssl_session_tickets off; ssl_session_cache off;
  ${listeners.map(server).join('\n  ')}`,
  );
}

async function measure(pid: number, { name, port, tls }: Listener): Promise<Serving> {
  const origin = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  const time = (file: string, ...args: string[]) =>
    medianOf(async () => (await measureTree(pid, `${origin}/${file}`, SECONDS, args)).processorTime * 1000);
  const byte = ((await time('large')) - (await time('small'))) / (LARGE - SMALL);
  const transaction = await time('transaction', '-H', 'Connection: close');
  return { name, byte, transaction };
}

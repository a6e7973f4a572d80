/** The far side: one server for all hosts. `/HEAD/BODY` is answered with this many bytes of head and body. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { makeChain } from '../../tests/support/certificates.ts';
import { FAR } from '../link/narrow-link.ts';
import { fillTo, LONGEST_HEAD, PORTS, type Way } from './load.ts';

/** `keepAliveTimeout` is longer than a page takes. */
const OPTIONS = { maxHeaderSize: LONGEST_HEAD, keepAliveTimeout: 600_000 };

/** @returns PEM of the authority behind each way */
export async function startFar(directory: string, endings: AsyncDisposableStack): Promise<Record<Way, string>> {
  const [rsa, ecdsa] = [
    await makeChain(directory, 'rsa', 'rsa', ['DNS:www.site.example']),
    await makeChain(directory, 'ecdsa', 'ecdsa', ['DNS:www.site.example']),
  ];
  const servers = {
    HTTP: createServer(OPTIONS, answer),
    'TLS 1.2': createTlsServer({ ...OPTIONS, ...rsa, maxVersion: 'TLSv1.2' }, answer),
    'TLS 1.3': createTlsServer({ ...OPTIONS, ...ecdsa, minVersion: 'TLSv1.3' }, answer),
  };
  for (const [way, server] of Object.entries(servers)) {
    await once(server.listen(PORTS[way as Way], FAR), 'listening');
    endings.defer(() => server.close().closeAllConnections());
  }
  return { HTTP: '', 'TLS 1.2': rsa.root, 'TLS 1.3': ecdsa.root };
}

function answer({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const [, head = 0, body = 0] = url.split('/').map(Number);
  response.sendDate = false;
  response.writeHead(200, { 'Content-Length': body, ...fillTo(head) });
  response.end(Buffer.alloc(body, 'x'));
}

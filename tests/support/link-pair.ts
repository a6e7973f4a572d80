/** Parts of both relays without sockets, between two ends of Node.js's TLS: what crosses is recorded at each place. */
import { join } from 'node:path';
import { type Duplex, duplexPair } from 'node:stream';
import { connect, createSecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';
import { CertificateStore } from '../../link/store/store.ts';
import { FarSide } from '../../link/substitution/far.ts';
import { NearSide } from '../../link/substitution/near.ts';
import { temporaryFolder } from './temporary-folder.ts';

export const NAME = 'server.example';

export function newStore(options?: ConstructorParameters<typeof CertificateStore>[1]): CertificateStore {
  return new CertificateStore(join(temporaryFolder(), 'store.db'), options);
}

/** Bytes that crossed, by place and direction. */
export interface Crossed {
  readonly up: { readonly client: Buffer; readonly link: Buffer; readonly server: Buffer };
  readonly down: { readonly server: Buffer; readonly link: Buffer; readonly client: Buffer };
}

export interface Ends {
  readonly client?: SecureContextOptions & { readonly servername?: string; readonly session?: Buffer };
  readonly server: SecureContextOptions & { readonly requestCert?: boolean };
  /** Changes what a relay sends: a hostile one. */
  readonly altered?: (bytes: Buffer, where: 'to near' | 'to far' | 'to client' | 'to server') => Buffer;
  /** Runs before the answer of the server arrives at the relays. */
  readonly meanwhile?: () => void;
}

export interface Outcome {
  readonly crossed: Crossed;
  /** Certificate of the other end, as the client's TLS says, in DER; `undefined` where there was no connection. */
  readonly serverCertificate: Buffer | undefined;
  readonly clientCertificate: Buffer | undefined;
  readonly session: Buffer | undefined;
  readonly isResumed: boolean;
  readonly error: Error | undefined;
  readonly near: NearSide;
}

interface Memories {
  readonly near: CertificateStore;
  readonly far: CertificateStore;
}

/** Makes a TLS connection by way of both relays: the client says "ping", the server "pong". */
export async function visit({ near: nearStore, far: farStore }: Memories, ends: Ends): Promise<Outcome> {
  const { altered = (bytes) => bytes, meanwhile } = ends;
  const [near, far] = [new NearSide(nearStore, 443), new FarSide(farStore)];
  const [clientEnd, nearEnd] = duplexPair();
  const [serverEnd, farEnd] = duplexPair();
  const seen = { up: { client: [], link: [], server: [] }, down: { server: [], link: [], client: [] } } as Seen;
  let failure: Error | undefined;
  const closeAll = (error?: Error) => {
    failure ??= error;
    for (const end of [nearEnd, farEnd]) end.end();
  };
  const carry = (work: () => void) => {
    try {
      work();
    } catch (error) {
      closeAll(error as Error);
    }
  };
  const toServer = (bytes: Buffer) => record(seen.up.server, farEnd, altered(bytes, 'to server'));
  const toClient = (bytes: Buffer) => record(seen.down.client, nearEnd, altered(bytes, 'to client'));
  nearEnd.on('data', (bytes: Buffer) => {
    seen.up.client.push(bytes);
    carry(() => {
      const there = altered(near.fromClient.push(bytes), 'to far');
      seen.up.link.push(there);
      toServer(far.fromNear.push(there));
    });
  });
  farEnd.on('data', (bytes: Buffer) => {
    meanwhile?.();
    seen.down.server.push(bytes);
    carry(() => {
      const back = altered(far.fromServer.push(bytes), 'to near');
      seen.down.link.push(back);
      toClient(near.fromServer.push(back));
    });
  });
  nearEnd.on('end', () => farEnd.end());
  farEnd.on('end', () => nearEnd.end());
  const shaken = await shakeHands(clientEnd, serverEnd, ends);
  return { ...shaken, error: failure ?? shaken.error, crossed: joined(seen), near };
}

async function shakeHands(clientEnd: Duplex, serverEnd: Duplex, { client = {}, server }: Ends) {
  const serverSocket = new TLSSocket(serverEnd, {
    isServer: true,
    requestCert: server.requestCert ?? false,
    rejectUnauthorized: server.requestCert ?? false,
    secureContext: createSecureContext({ maxVersion: 'TLSv1.2', sessionIdContext: 'test', ...server }),
  });
  const clientSocket = connect({ socket: clientEnd, servername: NAME, ...client });
  let [session, error]: [Buffer | undefined, Error | undefined] = [undefined, undefined];
  const failed = (why: Error) => {
    error ??= why;
    clientSocket.destroy();
    serverSocket.destroy();
  };
  clientSocket.on('session', (given: Buffer) => {
    session = given;
  });
  clientSocket.on('error', failed);
  serverSocket.on('error', failed).on('data', () => serverSocket.end('pong'));
  let [serverCertificate, clientCertificate]: (Buffer | undefined)[] = [];
  let isResumed = false;
  clientSocket.on('secureConnect', () => {
    isResumed = clientSocket.isSessionReused();
    clientSocket.write('ping');
  });
  clientSocket.on('data', () => {
    serverCertificate = clientSocket.getPeerCertificate().raw;
    clientCertificate = serverSocket.getPeerCertificate().raw;
    clientSocket.end();
  });
  await new Promise((resolve) => clientSocket.once('close', resolve));
  serverSocket.destroy();
  return { serverCertificate, clientCertificate, session, isResumed, error };
}

type Seen = { readonly [Direction in keyof Crossed]: { readonly [Place in keyof Crossed[Direction]]: Buffer[] } };

function record(list: Buffer[], end: Duplex, bytes: Buffer): void {
  list.push(bytes);
  if (bytes.length > 0 && end.writable) end.write(bytes);
}

function joined({ up, down }: Seen): Crossed {
  const { concat } = Buffer;
  return {
    up: { client: concat(up.client), link: concat(up.link), server: concat(up.server) },
    down: { server: concat(down.server), link: concat(down.link), client: concat(down.client) },
  };
}

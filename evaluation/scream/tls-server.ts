/** A TLS 1.3 server, forked as `tls-server.ts KEY CHAIN`; asked anything, it says its processor time. */
import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';

export interface Listening {
  readonly port: number;
  /** Milliseconds of processor time. */
  readonly signature: number;
}

const SIGNATURES = 400;

const [keyFile = '', chainFile = ''] = process.argv.slice(2);
const [key, cert] = [readFileSync(keyFile), readFileSync(chainFile)];
const server = createServer({ key, cert, minVersion: 'TLSv1.3' }, (socket) =>
  socket.on('error', () => undefined).resume(),
);
const signature = signatureTime();
server.listen(0, '127.0.0.1', () =>
  process.send?.({ port: (server.address() as AddressInfo).port, signature } satisfies Listening),
);
process.on('message', () => process.send?.(spent()));
process.on('disconnect', () => process.exit());

/** Measures the signature in `CertificateVerify`: ECDSA with SHA-256, or RSA-PSS. */
function signatureTime(): number {
  const privateKey = createPrivateKey(key);
  const padding = privateKey.asymmetricKeyType === 'rsa' ? { padding: 6, saltLength: 32 } : {}; // RSA_PKCS1_PSS_PADDING
  const message = Buffer.alloc(146);
  const run = () => sign('sha256', message, { key: privateKey, ...padding });
  for (let index = 0; index < SIGNATURES; index++) run();
  const before = spent();
  for (let index = 0; index < SIGNATURES; index++) run();
  return (spent() - before) / SIGNATURES;
}

function spent(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** A certificate for `localhost`, ECDSA P-256, that signs itself. */
import { join } from 'node:path';
import { runCommand } from './measure.ts';

/** Makes `cert.pem` and `key.pem` in a folder. */
export async function makeCertificate(folder: string): Promise<void> {
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    join(folder, 'key.pem'),
  ];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  await runCommand('openssl', [
    'req',
    '-x509',
    '-batch',
    ...key,
    ...subject,
    '-days',
    '30',
    '-out',
    join(folder, 'cert.pem'),
  ]);
}

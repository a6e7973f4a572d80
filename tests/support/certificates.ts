/** Certificates made at test time with openssl: an authority of its own, and a certificate under it. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface TestCertificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
  /** The file of `ca`. */
  readonly caFile: string;
}

/** @param names - `DNS:name` or `IP:address` */
export async function makeCertificate(directory: string, names: readonly string[]): Promise<TestCertificate> {
  const file = (name: string) => join(directory, name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const ca = ['-x509', '-days', '2', '-subj', '/CN=test authority', '-addext', 'basicConstraints=critical,CA:TRUE'];
  await run('openssl', ['req', ...ca, ...newKey, '-keyout', file('ca.key'), '-out', file('ca.pem')]);
  await run('openssl', [
    'req',
    '-new',
    '-subj',
    '/CN=test',
    ...newKey,
    '-keyout',
    file('leaf.key'),
    '-out',
    file('leaf.csr'),
  ]);
  await writeFile(file('leaf.ext'), `subjectAltName=${names.join(',')}\n`);
  const issuer = ['-CA', file('ca.pem'), '-CAkey', file('ca.key'), '-set_serial', String(Date.now())];
  const request = ['-req', '-in', file('leaf.csr'), '-extfile', file('leaf.ext'), '-out', file('leaf.pem')];
  await run('openssl', ['x509', ...request, ...issuer, '-days', '2']);
  const read = (name: string) => readFile(file(name), 'utf8');
  return {
    key: await read('leaf.key'),
    cert: await read('leaf.pem'),
    ca: await read('ca.pem'),
    caFile: file('ca.pem'),
  };
}

/** A chain of two certificates under an authority, as sites have them: by openssl, made for each evaluation. */
import { createHash, X509Certificate } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../measure.ts';

export interface Chain {
  /** PEM files. */
  readonly chain: string;
  readonly key: string;
  readonly authority: string;
  /** SHA-256 of the leaf's public key, base64. */
  readonly pin: string;
}

/** @param newKey - how openssl makes a key: `ec -pkeyopt ec_paramgen_curve:P-256`, or `rsa:2048` */
export async function makeChain(
  directory: string,
  names: readonly string[],
  newKey: readonly string[] = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
): Promise<Chain> {
  const file = (name: string) => join(directory, name);
  const openssl = (...args: string[]) => runCommand('openssl', args);
  const request = async (name: string, subject: string) =>
    openssl(
      'req',
      '-new',
      '-subj',
      subject,
      '-nodes',
      '-newkey',
      ...newKey,
      '-keyout',
      file(`${name}.key`),
      '-out',
      file(`${name}.csr`),
    );
  const sign = async (name: string, issuer: string, extensions: string) => {
    await writeFile(file(`${name}.ext`), extensions);
    const by = ['-CA', file(`${issuer}.pem`), '-CAkey', file(`${issuer}.key`), '-set_serial', String(Date.now())];
    await openssl(
      'x509',
      '-req',
      '-in',
      file(`${name}.csr`),
      '-extfile',
      file(`${name}.ext`),
      '-days',
      '90',
      ...by,
      '-out',
      file(`${name}.pem`),
    );
  };
  const authority = [
    '-x509',
    '-days',
    '90',
    '-subj',
    '/O=Evaluation/CN=Evaluation Root',
    '-addext',
    'basicConstraints=critical,CA:TRUE',
  ];
  await openssl(
    'req',
    ...authority,
    '-nodes',
    '-newkey',
    ...newKey,
    '-keyout',
    file('root.key'),
    '-out',
    file('root.pem'),
  );
  await request('intermediate', '/C=XX/O=Evaluation/CN=Evaluation Intermediate R1');
  await sign(
    'intermediate',
    'root',
    'basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\n',
  );
  await request('leaf', `/CN=${names[0]}`);
  const names_ = names.map((name) => `DNS:${name}`).join(',');
  await sign(
    'leaf',
    'intermediate',
    `subjectAltName=${names_}\nextendedKeyUsage=serverAuth\nkeyUsage=critical,digitalSignature\n`,
  );
  const [leaf, intermediate] = await Promise.all([readFile(file('leaf.pem')), readFile(file('intermediate.pem'))]);
  await writeFile(file('chain.pem'), Buffer.concat([leaf, intermediate]));
  const spki = new X509Certificate(leaf).publicKey.export({ type: 'spki', format: 'der' });
  const pin = createHash('sha256').update(spki).digest('base64');
  return { chain: file('chain.pem'), key: file('leaf.key'), authority: file('root.pem'), pin };
}

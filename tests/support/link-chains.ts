/** Certificate chains of two, made with openssl: a server's or client's certificate, and that of the authority which signed it; their root is apart. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export type KeyKind = 'rsa' | 'ecdsa';

const KEYS: Readonly<Record<KeyKind, readonly string[]>> = {
  rsa: ['rsa:2048'],
  ecdsa: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
};

/** Like those of public authorities, whose certificates name where to ask. */
const AUTHORITY_EXTENSIONS = `basicConstraints=critical,CA:TRUE
keyUsage=critical,digitalSignature,keyCertSign,cRLSign
crlDistributionPoints=URI:http://crl.authority.example/root.crl
authorityInfoAccess=caIssuers;URI:http://authority.example/root.der
certificatePolicies=2.23.140.1.2.1
`;
const END_EXTENSIONS = `keyUsage=critical,digitalSignature,keyEncipherment
extendedKeyUsage=serverAuth,clientAuth
basicConstraints=critical,CA:FALSE
authorityKeyIdentifier=keyid
crlDistributionPoints=URI:http://crl.authority.example/issuing.crl
authorityInfoAccess=OCSP;URI:http://ocsp.authority.example,caIssuers;URI:http://authority.example/issuing.der
certificatePolicies=2.23.140.1.2.2
`;

export interface Chain {
  /** PEM, and the files they are in. */
  readonly key: string;
  readonly keyFile: string;
  /** Both certificates, the end's first. */
  readonly cert: string;
  readonly certFile: string;
  /** The authority's alone. */
  readonly issuingFile: string;
  readonly root: string;
  readonly rootFile: string;
}

/** @param name - of files in `folder`. @param subject - `DNS:…` or `IP:…`; the first DNS name is the common name, too */
export async function makeChain(folder: string, name: string, kind: KeyKind, subject: string): Promise<Chain> {
  const file = (part: string) => join(folder, `${name}-${part}`);
  const organisation = '/C=CH/O=Example Trust Services Ltd/CN=Example';
  const rootSubject = ['-subj', `${organisation} Root CA`, '-addext', 'basicConstraints=critical,CA:TRUE'];
  const rootFiles = ['-keyout', file('root.key'), '-out', file('root.pem')];
  await run('openssl', ['req', '-x509', '-days', '9', ...newKey(kind), ...rootSubject, ...rootFiles]);
  await issue(
    file,
    { to: 'issuing', from: 'root', kind, subject: `${organisation} Issuing CA 1` },
    AUTHORITY_EXTENSIONS,
  );
  const common = /DNS:([^,]*)/.exec(subject)?.[1] ?? 'end';
  const extensions = `${END_EXTENSIONS}subjectAltName=${subject}\n`;
  await issue(file, { to: 'end', from: 'issuing', kind, subject: `/CN=${common}` }, extensions);
  const read = (part: string) => readFile(file(part), 'utf8');
  const cert = (await read('end.pem')) + (await read('issuing.pem'));
  await writeFile(file('chain.pem'), cert);
  const files = {
    keyFile: file('end.key'),
    certFile: file('chain.pem'),
    issuingFile: file('issuing.pem'),
    rootFile: file('root.pem'),
  };
  return { ...files, cert, key: await read('end.key'), root: await read('root.pem') };
}

interface Issue {
  readonly to: string;
  readonly from: string;
  readonly kind: KeyKind;
  readonly subject: string;
}

async function issue(file: (part: string) => string, { to, from, kind, subject }: Issue, extensions: string) {
  const request = ['-subj', subject, '-keyout', file(`${to}.key`), '-out', file(`${to}.csr`)];
  await run('openssl', ['req', '-new', ...newKey(kind), ...request]);
  await writeFile(file(`${to}.ext`), extensions);
  const authority = ['-CA', file(`${from}.pem`), '-CAkey', file(`${from}.key`), '-CAcreateserial', '-days', '9'];
  const out = ['-in', file(`${to}.csr`), '-extfile', file(`${to}.ext`), '-out', file(`${to}.pem`)];
  await run('openssl', ['x509', '-req', ...authority, ...out]);
}

function newKey(kind: KeyKind): string[] {
  return ['-nodes', '-newkey', ...KEYS[kind]];
}

/** Certificates for tests and benchmarks: by an authority of their own, by themselves, or in chains as sites have them. */
import 'reflect-metadata';
import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  AuthorityInfoAccessExtension,
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  CertificatePolicyExtension,
  CRLDistributionPointsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

export type KeyKind = 'rsa' | 'ecdsa';

const HASH = 'SHA-256';
const ALGORITHMS = {
  rsa: { name: 'RSASSA-PKCS1-v1_5', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1), hash: HASH },
  ecdsa: { name: 'ECDSA', namedCurve: 'P-256', hash: HASH },
};
const DAYS = 9;
const { digitalSignature, keyEncipherment, keyCertSign, cRLSign } = KeyUsageFlags;
const AUTHORITY = [
  new BasicConstraintsExtension(true, undefined, true),
  new KeyUsagesExtension(digitalSignature | keyCertSign | cRLSign, true),
];
/** Extensions as public authorities have them, with where to ask. */
const ISSUING_AUTHORITY = [
  ...AUTHORITY,
  new CRLDistributionPointsExtension(['http://crl.authority.example/root.crl']),
  new AuthorityInfoAccessExtension({ caIssuers: 'http://authority.example/root.der' }),
  new CertificatePolicyExtension(['2.23.140.1.2.1']),
];
const END = [
  new KeyUsagesExtension(digitalSignature | keyEncipherment, true),
  new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
  new BasicConstraintsExtension(false, undefined, true),
  new CRLDistributionPointsExtension(['http://crl.authority.example/issuing.crl']),
  new AuthorityInfoAccessExtension({
    ocsp: 'http://ocsp.authority.example',
    caIssuers: 'http://authority.example/issuing.der',
  }),
  new CertificatePolicyExtension(['2.23.140.1.2.2']),
];

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

interface Wanted extends Partial<Validity> {
  readonly subject: string;
  /** ECDSA, if left out. */
  readonly kind?: KeyKind;
  /** New ones, if left out. */
  readonly keys?: CryptoKeyPair;
  /** Itself, if left out. */
  readonly issuer?: Issued;
  readonly extensions: readonly Extension[];
}

interface Issued {
  readonly keys: CryptoKeyPair;
  readonly certificate: X509Certificate;
  /** PEM. */
  readonly key: string;
  readonly cert: string;
}

export interface TestCertificate {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
  /** The file of `ca`. */
  readonly caFile: string;
}

/** Chain of two certificates: a server's or client's, and that of the authority which signed it; their root is apart. */
export interface Chain {
  /** PEM, and the files they are in. */
  readonly key: string;
  readonly keyFile: string;
  /** Certificates of the chain, the end's first. */
  readonly cert: string;
  readonly certFile: string;
  /** The authority's alone. */
  readonly issuingFile: string;
  readonly root: string;
  readonly rootFile: string;
  /** SHA-256 of the end's public key, base64. */
  readonly pin: string;
  /** The chain with another certificate of the same key in front. */
  readonly renewed: () => Promise<string>;
}

/** Writes `ca.pem`, `leaf.pem` and `leaf.key`. @param names - `DNS:name` or `IP:address` */
export async function makeCertificate(directory: string, names: readonly string[]): Promise<TestCertificate> {
  const authority = await issue({ subject: 'CN=test authority', extensions: AUTHORITY });
  const { key, cert } = await issue({ subject: 'CN=test', issuer: authority, extensions: [namesOf(names)] });
  const caFile = join(directory, 'ca.pem');
  await writeFile(caFile, authority.cert);
  await writeFile(join(directory, 'leaf.key'), key);
  await writeFile(join(directory, 'leaf.pem'), cert);
  return { key, cert, ca: authority.cert, caFile };
}

/** Writes `cert.pem`, for `host`, which signs itself as one that an operator makes, and `key.pem`. */
export async function makeSelfSigned(folder: string, host: string, validity?: Validity): Promise<void> {
  const extensions = [...AUTHORITY, namesOf([`DNS:${host}`])];
  const { key, cert } = await issue({ subject: `CN=${host}`, extensions, ...validity });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'key.pem'), key);
  await writeFile(join(folder, 'cert.pem'), cert);
}

/**
 * Makes a chain like those of public authorities, whose certificates name where to ask.
 *
 * @param name - of files in `folder`
 * @param names - `DNS:name` or `IP:address`
 */
export async function makeChain(folder: string, name: string, kind: KeyKind, names: readonly string[]): Promise<Chain> {
  const organisation = 'C=CH, O=Example Trust Services Ltd, CN=Example';
  const root = await issue({ subject: `${organisation} Root CA`, kind, extensions: AUTHORITY });
  const issuing = await issue({
    subject: `${organisation} Issuing CA 1`,
    kind,
    issuer: root,
    extensions: ISSUING_AUTHORITY,
  });
  const subject = `CN=${names[0]?.replace(/^DNS:/, '')}`;
  const wanted = { subject, kind, issuer: issuing, extensions: [...END, namesOf(names)] };
  const { key, keys, cert: end, certificate } = await issue(wanted);
  const cert = end + issuing.cert;
  const write = async (part: string, text: string) => {
    const file = join(folder, `${name}-${part}.pem`);
    await writeFile(file, text);
    return file;
  };
  return {
    key,
    keyFile: await write('key', key),
    cert,
    certFile: await write('chain', cert),
    issuingFile: await write('issuing', issuing.cert),
    root: root.cert,
    rootFile: await write('root', root.cert),
    pin: createHash('sha256').update(new Uint8Array(certificate.publicKey.rawData)).digest('base64'),
    renewed: async () => (await issue({ ...wanted, keys })).cert + issuing.cert,
  };
}

/**
 * A chain of ECDSA certificates, each filled up to a length by an extension; their root is apart.
 *
 * @param lengths - bytes, of the issuing authorities first, the end last
 */
export async function makeSizedChain(
  folder: string,
  name: string,
  names: readonly string[],
  lengths: readonly number[],
): Promise<Pick<Chain, 'keyFile' | 'certFile' | 'rootFile'>> {
  const root = await issue({ subject: 'CN=root', extensions: AUTHORITY });
  const chain = [root];
  for (const [index, length] of lengths.entries()) {
    const isEnd = index === lengths.length - 1;
    const wanted = { subject: `CN=${index}`, extensions: isEnd ? [namesOf(names)] : AUTHORITY };
    chain.unshift(await issueOfLength(length, { ...wanted, issuer: chain[0] ?? root }));
  }
  const file = (part: string) => join(folder, `${name}-${part}.pem`);
  const files = { keyFile: file('key'), certFile: file('chain'), rootFile: file('root') };
  await writeFile(files.keyFile, chain[0]?.key ?? '');
  await writeFile(
    files.certFile,
    chain.slice(0, -1).map(({ cert }) => cert),
  );
  await writeFile(files.rootFile, root.cert);
  return files;
}

const FILLING = '1.3.6.1.4.1.99999.1';

/** Repeats until it fits: the lengths of signatures vary by some bytes. */
async function issueOfLength(length: number, wanted: Wanted): Promise<Issued> {
  const keys = await newKeys('ecdsa');
  for (let filling = 0; ; ) {
    const extensions = [...wanted.extensions, new Extension(FILLING, false, new Uint8Array(filling))];
    const issued = await issue({ ...wanted, keys, extensions });
    const missing = length - issued.certificate.rawData.byteLength;
    if (missing === 0) return issued;
    filling += missing;
    if (filling < 0) throw new Error(`a certificate of ${length} bytes is too short`);
  }
}

async function issue({ subject, kind = 'ecdsa', keys, issuer, extensions, ...validity }: Wanted): Promise<Issued> {
  const own = keys ?? (await newKeys(kind));
  const signing = issuer?.keys ?? own;
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: issuer?.certificate.subjectName ?? subject,
    publicKey: own.publicKey,
    signingKey: signing.privateKey,
    notAfter: new Date(Date.now() + DAYS * 86_400_000),
    signingAlgorithm: ALGORITHMS.ecdsa,
    ...validity,
    extensions: [
      ...extensions,
      await SubjectKeyIdentifierExtension.create(own.publicKey),
      await AuthorityKeyIdentifierExtension.create(signing.publicKey),
    ],
  });
  const der = await crypto.subtle.exportKey('pkcs8', own.privateKey);
  const [key, cert] = [`${PemConverter.encode(der, 'PRIVATE KEY')}\n`, `${certificate.toString('pem')}\n`];
  return { keys: own, certificate, key, cert };
}

function newKeys(kind: KeyKind): Promise<CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHMS[kind], true, ['sign', 'verify']) as Promise<CryptoKeyPair>;
}

function namesOf(names: readonly string[]): Extension {
  return new SubjectAlternativeNameExtension(
    names.map((name) => {
      const [kind, ...value] = name.split(':');
      return { type: kind === 'IP' ? ('ip' as const) : ('dns' as const), value: value.join(':') };
    }),
  );
}

/** Certificates: read, checked, and turned into the options of an HTTPS server. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { TlsFiles } from '../config/schema.ts';
import { misconfigured } from '../errors.ts';

/** Post-quantum key agreement first, so that what is recorded today stays closed. */
const GROUPS = 'X25519MLKEM768:X25519:P-256';
const GROUPS_WITHOUT_ML_KEM = 'X25519:P-256';

/**
 * Reads a certificate and its key, and checks that they belong together and are for this origin.
 *
 * @throws KeyServerError `configuration-invalid`
 */
export function readTls(files: TlsFiles, origin: string): SecureContextOptions {
  const cert = readPem(files.certificate, 'certificate');
  const key = readPem(files.key, 'private key');
  checkCertificate(parseCertificate(cert, files), parseKey(key, files), files, new URL(origin).hostname);
  return { cert, key, minVersion: 'TLSv1.3', ecdhCurve: supportedGroups() };
}

/** End of the certificate, in seconds since 1970. */
export function endOf({ cert }: Pick<SecureContextOptions, 'cert'>): number {
  return new X509Certificate(cert as Buffer).validToDate.getTime() / 1000;
}

function checkCertificate(certificate: X509Certificate, key: KeyObject, files: TlsFiles, host: string): void {
  if (!certificate.checkPrivateKey(key))
    throw misconfigured(`the certificate ${files.certificate} does not belong to the private key ${files.key}`);
  if (certificate.checkHost(host) === undefined)
    throw misconfigured(`the certificate ${files.certificate} is not for the host ${host}`);
}

function parseCertificate(pem: Buffer, { certificate }: TlsFiles): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw misconfigured(`${certificate} is not a certificate in PEM form`, cause);
  }
}

function parseKey(pem: Buffer, { key }: TlsFiles): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    throw misconfigured(`${key} is not a private key in PEM form without a passphrase`);
  }
}

function readPem(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (cause) {
    throw misconfigured(`the ${what} cannot be read at ${path}`, cause);
  }
}

function supportedGroups(): string {
  try {
    createSecureContext({ ecdhCurve: GROUPS });
    return GROUPS;
  } catch {
    return GROUPS_WITHOUT_ML_KEM;
  }
}

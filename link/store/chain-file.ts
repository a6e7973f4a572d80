/** Chains that the store of a near relay begins with. */
import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { describeUnreadable } from '../../node-support/system-error.ts';
import { LinkError } from '../errors.ts';
import { LIMITS } from '../limits.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g;
const NAME = /^DNS:((?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)$/;

export interface FilledChain {
  /** DNS names in lower case; `*` may stand for the first label. */
  readonly names: readonly string[];
  readonly chain: readonly Buffer[];
}

/** @param file - certificates in PEM, that of a server first, which names it @throws LinkError `link-fill` */
export function readChain(file: string): FilledChain {
  const refuse = (why: string, cause?: unknown) => new LinkError('link-fill', why, { typed: true, cause });
  try {
    if (statSync(file).size > LIMITS.filledFile) throw refuse(`${file} is longer than a chain of certificates`);
    const pems = readFileSync(file, 'latin1').match(CERTIFICATE) ?? [];
    const [own, ...others] = pems.map((pem) => new X509Certificate(pem));
    const alternatives = own?.subjectAltName?.toLowerCase().replaceAll('dns:', 'DNS:').split(', ') ?? [];
    const names = alternatives.flatMap((text) => NAME.exec(text)?.[1] ?? []);
    if (own === undefined) throw refuse(`${file} has no certificate in PEM`);
    if (names.length === 0) throw refuse(`the first certificate of ${file} names no server`);
    return { names, chain: [own, ...others].map(({ raw }) => raw) };
  } catch (error) {
    if (error instanceof LinkError) throw error;
    const isOfSystem = error instanceof Error && 'syscall' in error;
    throw refuse(isOfSystem ? describeUnreadable(file, error) : `a certificate of ${file} is damaged`, error);
  }
}

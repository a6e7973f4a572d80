/**
 * Checks that a host names a publisher, step D5 of docs/spec/keys.md: by the file `/.well-known/wispr-site` over HTTPS; where the host has no such
 * file, or no HTTPS, by a DNS TXT record. A descriptor's claim to a host counts only then.
 */
import type { Dispatcher } from 'undici';
import type { KeyId } from '../../core/crypto/key-id.ts';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { reasonOf } from '../../core/errors.ts';
import { hostProofIn, hostProofLine, isHostProof } from '../../core/keys/descriptor.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { askNameServers } from '../../node-support/name-servers.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { type ExchangeResult, exchange } from '../site/exchange.ts';
import type { HostProof } from '../store/types.ts';

export interface ProofOptions {
  readonly dispatcher: Dispatcher;
  /** Addresses of DNS servers, perhaps with ports; the system's if left out. */
  readonly dnsServers?: readonly string[] | undefined;
}

interface ProofTexts {
  readonly by: Exclude<HostProof, 'trusted-by-hand'>;
  readonly texts: readonly string[];
  /** The same for people, where none of the texts is a proof. */
  readonly said: string;
}

/** @throws KeyError `host-proof`; ReaderError `host-unreachable` where the host could not be asked */
export async function checkHostProof(site: string, publisher: KeyId, options: ProofOptions): Promise<ProofTexts['by']> {
  const { by, texts, said } = await askHost(site, options);
  if (texts.some((text) => isHostProof(text, publisher))) return by;
  throw new KeyError('host-proof', `${site} does not name this publisher: ${said}`, {
    fields: { site, line: hostProofLine(publisher), url: `https://${site}${HOST_PROOF_PATH}` },
  });
}

/** The first publisher that a host names. @throws KeyError `host-proof`; ReaderError `host-unreachable` */
export async function publisherOfHost(site: string, options: ProofOptions): Promise<KeyId> {
  const { texts, said } = await askHost(site, options);
  const found = texts.map(hostProofIn).find((one) => one !== undefined);
  if (found !== undefined) return found;
  throw new KeyError('host-proof', `${site} names no publisher: ${said}`);
}

/** Prefers the answer over HTTPS, whatever DNS says: any machine between here and the name server can forge an answer of DNS. */
async function askHost(site: string, { dispatcher, dnsServers }: ProofOptions): Promise<ProofTexts> {
  const url = `https://${site}${HOST_PROOF_PATH}`;
  const answer = await exchange(dispatcher, `https://${site}`, HOST_PROOF_PATH, {
    maximumLength: MESSAGE_LIMITS.hostProof,
  }).catch((error: unknown) => asAnswered(site, error));
  if (typeof answer === 'string') return { by: 'host', texts: [], said: answer };
  if (answer === undefined) return readRecords(site, dnsServers, `https://${site} refuses connections`, false);
  const { status, body } = answer;
  if (status === 200)
    return { by: 'host', texts: [fromUtf8(body) ?? ''], said: `${url} names another publisher, or none` };
  const said = `${url} answered ${status}`;
  if (status === 404 || status === 410) return readRecords(site, dnsServers, said, true);
  return { by: 'host', texts: [], said };
}

/**
 * Takes for an answer, too, a file that is too long, a certificate that is not the host's and a failed handshake: what answers there cannot show
 * to be the host.
 *
 * @returns what was answered in place of a file; `undefined` where there is no HTTPS
 * @throws ReaderError `host-unreachable`: what was not reached may well name its publisher
 */
function asAnswered(site: string, error: unknown): ExchangeResult | string | undefined {
  const { code, message, cause } = error as ReaderError;
  if (code === 'key-server-answer' || code === 'key-server-certificate' || isHandshake(cause)) return message;
  if (isNoListener(cause)) return undefined;
  throw notAsked(site, reasonOf(error), error);
}

/** Tells whether OpenSSL blames the other side of a handshake, as where that does not speak TLS. */
function isHandshake(cause: unknown): boolean {
  return /^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/.test(systemCode(cause) ?? '');
}

/** Tells whether the host refuses connections, at all of its addresses that this machine has a way to. */
function isNoListener(cause: unknown): boolean {
  const codes = (cause instanceof AggregateError ? cause.errors : [cause]).map(systemCode);
  return (
    codes.includes('ECONNREFUSED') &&
    codes.every((code) => /^(?:ECONNREFUSED|ENETUNREACH|EADDRNOTAVAIL)$/.test(`${code}`))
  );
}

/** @param before - what came of HTTPS @param answered - there: then silent name servers change nothing */
async function readRecords(
  site: string,
  dnsServers: readonly string[] | undefined,
  before: string,
  answered: boolean,
): Promise<ProofTexts> {
  const name = `_wispr.${site}`;
  try {
    const records = await askNameServers(dnsServers, (resolver) => resolver.resolveTxt(name));
    const texts = records.map((pieces) => pieces.join('')).filter((text) => text.length <= MESSAGE_LIMITS.hostProof);
    return { by: 'dns', texts, said: `${before}; the TXT records of ${name} name another publisher, or none` };
  } catch (error) {
    const isMissing = ['ENOTFOUND', 'ENODATA'].includes(systemCode(error) ?? '');
    const why = isMissing ? `there is no TXT record ${name}` : `no name server told of ${name}: ${reasonOf(error)}`;
    if (answered) return { by: 'dns', texts: [], said: `${before}; ${why}` };
    throw notAsked(site, `${before}; ${why}`, error);
  }
}

function notAsked(site: string, why: string, cause: unknown): ReaderError {
  return new ReaderError('host-unreachable', `${site} could not be asked who its publisher is: ${why}`, { cause });
}

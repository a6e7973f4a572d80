/**
 * Whether a host names a publisher, step D4 of docs/spec/keys.md: by the file `/.well-known/wispr-site` over HTTPS, or a DNS TXT record. A
 * descriptor's claim to a host counts only then.
 */

import { Resolver } from 'node:dns/promises';
import type { Dispatcher } from 'undici';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { reasonOf } from '../../core/errors.ts';
import { hostProofIn, hostProofLine, isHostProof } from '../../core/keys/descriptor.ts';
import { KeyError } from '../../core/keys/errors.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { exchange } from '../site/exchange.ts';

export interface ProofOptions {
  readonly dispatcher: Dispatcher;
  /** Addresses of DNS servers, perhaps with ports; the system's if left out. */
  readonly dnsServers?: readonly string[] | undefined;
}

/**
 * Asks both ways at once; one is enough.
 *
 * @throws KeyError `host-proof` with what each of them said; ReaderError `host-unreachable` where the host could not be asked
 */
export async function checkHostProof(site: string, publisher: KeyId, options: ProofOptions): Promise<void> {
  try {
    await bothWays(site, options, (text) => (isHostProof(text, publisher) ? true : undefined));
  } catch (error) {
    if (!hasAnswered(error)) throw notAsked(site, error);
    throw new KeyError('host-proof', `${site} does not name this publisher: ${reasonsOf(error)}`, {
      cause: error,
      fields: { site, line: hostProofLine(publisher), path: HOST_PROOF_PATH },
    });
  }
}

/**
 * The publisher that a host names; the first one, where it names several.
 *
 * @throws KeyError `host-proof`; ReaderError `host-unreachable` where the host could not be asked
 */
export async function publisherOfHost(site: string, options: ProofOptions): Promise<KeyId> {
  try {
    return await bothWays(site, options, hostProofIn);
  } catch (error) {
    if (!hasAnswered(error)) throw notAsked(site, error);
    throw new KeyError('host-proof', `${site} names no publisher: ${reasonsOf(error)}`, { cause: error });
  }
}

type Reading<Found> = (text: string) => Found | undefined;

function bothWays<Found>(site: string, options: ProofOptions, read: Reading<Found>): Promise<Found> {
  return Promise.any([readFile(site, options, read), readRecord(site, options, read)]);
}

/** What a host said, and what is no proof. A connection that fails, or a name without records, is not the word of a host. */
class NoProof extends Error {}

function hasAnswered(error: unknown): boolean {
  return (error as AggregateError).errors.some((one) => one instanceof NoProof);
}

/** A site that was not reached may well name its publisher. */
function notAsked(site: string, error: unknown): ReaderError {
  const message = `${site} could not be asked who its publisher is: ${reasonsOf(error)}`;
  return new ReaderError('host-unreachable', message, {
    cause: error,
  });
}

function reasonsOf(error: unknown): string {
  return (error as AggregateError).errors.map(reasonOf).join('; ');
}

async function readFile<Found>(site: string, { dispatcher }: ProofOptions, read: Reading<Found>): Promise<Found> {
  const answer = await exchange(dispatcher, `https://${site}`, HOST_PROOF_PATH, {
    maximumLength: MESSAGE_LIMITS.hostProof,
  }).catch(asAnswered);
  if (answer.status !== 200) throw new NoProof(`https://${site}${HOST_PROOF_PATH} answered ${answer.status}`);
  const found = read(fromUtf8(answer.body) ?? '');
  if (found === undefined) throw new NoProof(`https://${site}${HOST_PROOF_PATH} names another publisher, or none`);
  return found;
}

/** Too much is an answer as well; and so is a certificate that is not the host's, or a handshake that fails: somebody answers there, and cannot show to be the host. */
function asAnswered(error: unknown): never {
  const isAnswer =
    error instanceof ReaderError &&
    (error.code === 'key-server-answer' || error.code === 'key-server-certificate' || isHandshake(error.cause));
  throw isAnswer ? new NoProof(error.message, { cause: error }) : error;
}

/** What OpenSSL says of the other side's part in a handshake, of a protocol that is not TLS for one. */
function isHandshake(cause: unknown): boolean {
  return /^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/.test(systemCode(cause) ?? '');
}

async function readRecord<Found>(site: string, { dnsServers }: ProofOptions, read: Reading<Found>): Promise<Found> {
  const name = `_wispr.${site}`;
  const resolver = new Resolver({ timeout: 3000, tries: 2 });
  if (dnsServers && dnsServers.length > 0) resolver.setServers(dnsServers);
  const timer = setTimeout(() => resolver.cancel(), LIMITS.exchangeTimeout);
  try {
    const records = await resolver.resolveTxt(name);
    const texts = records.map((pieces) => pieces.join('')).filter((text) => text.length <= MESSAGE_LIMITS.hostProof);
    const found = texts.map(read).find((one) => one !== undefined);
    if (found === undefined) throw new NoProof(`the TXT records of ${name} name another publisher, or none`);
    return found;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTFOUND' || code === 'ENODATA') throw new Error(`there is no TXT record ${name}`);
    throw error instanceof NoProof ? error : new Error(`no name server told of ${name}: ${reasonOf(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

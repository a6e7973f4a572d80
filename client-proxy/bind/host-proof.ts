/**
 * Whether a host names a publisher, step D4 of docs/spec/keys.md: by the file `/.well-known/wispr-site` over HTTPS, or a DNS TXT record. A
 * descriptor's claim to a host counts only then.
 */

import { Resolver } from 'node:dns/promises';
import type { Dispatcher } from 'undici';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { reasonOf } from '../../core/errors.ts';
import { HOST_PROOF_PATH, hostProofLine, isHostProof } from '../../core/keys/descriptor.ts';
import { KeyError } from '../../core/keys/errors.ts';
import type { KeyId } from '../../core/keys/key-id.ts';
import { MESSAGE_LIMITS } from '../../core/keys/limits.ts';
import { exchange } from '../keys/exchange.ts';
import { LIMITS } from '../limits.ts';

export interface ProofOptions {
  readonly dispatcher: Dispatcher;
  /** Addresses of DNS servers, perhaps with ports; the system's if left out. */
  readonly dnsServers?: readonly string[] | undefined;
}

/**
 * Asks both ways at once; one is enough.
 *
 * @throws KeyError `host-proof` with what each of them said
 */
export async function checkHostProof(site: string, publisher: KeyId, options: ProofOptions): Promise<void> {
  try {
    await Promise.any([checkFile(site, publisher, options), checkRecord(site, publisher, options)]);
  } catch (error) {
    const reasons = (error as AggregateError).errors.map(reasonOf).join('; ');
    throw new KeyError('host-proof', `${site} does not name this publisher: ${reasons}`, {
      cause: error,
      hint: `whoever runs ${site} puts "${hostProofLine(publisher)}" at https://${site}${HOST_PROOF_PATH} ("wispr protect" writes that file) or into a TXT record of _wispr.${site}; for development: --trust-site ${site}`,
    });
  }
}

async function checkFile(site: string, publisher: KeyId, { dispatcher }: ProofOptions): Promise<void> {
  const answer = await exchange(dispatcher, `https://${site}`, HOST_PROOF_PATH, {
    maximumLength: MESSAGE_LIMITS.hostProof,
  });
  if (answer.status !== 200) throw new Error(`https://${site}${HOST_PROOF_PATH} answered ${answer.status}`);
  if (!isHostProof(fromUtf8(answer.body) ?? '', publisher))
    throw new Error(`https://${site}${HOST_PROOF_PATH} names another publisher, or none`);
}

async function checkRecord(site: string, publisher: KeyId, { dnsServers }: ProofOptions): Promise<void> {
  const name = `_wispr.${site}`;
  const resolver = new Resolver({ timeout: 3000, tries: 2 });
  if (dnsServers && dnsServers.length > 0) resolver.setServers(dnsServers);
  const timer = setTimeout(() => resolver.cancel(), LIMITS.exchangeTimeout);
  try {
    const records = await resolver.resolveTxt(name);
    const texts = records.map((pieces) => pieces.join('')).filter((text) => text.length <= MESSAGE_LIMITS.hostProof);
    if (!texts.some((text) => isHostProof(text, publisher)))
      throw new Error(`the TXT records of ${name} name another publisher, or none`);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw code === 'ENOTFOUND' || code === 'ENODATA' ? new Error(`there is no TXT record ${name}`) : error;
  } finally {
    clearTimeout(timer);
  }
}

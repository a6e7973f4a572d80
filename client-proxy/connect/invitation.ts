/** An invitation as people have it: a link; or a code alone, and the site that it is for. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { normaliseCode } from '../../core/keys/binding.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { ReaderError } from '../errors.ts';
import type { Upstream } from '../network/upstream.ts';
import { publisherOfHost } from './host-proof.ts';
import { type InvitationLink, parseInvitationLink } from './link.ts';
import { fetchPublishedDescriptor } from './published-descriptor.ts';

/** Tells whether the text is a code, which needs its site. */
export function isCodeAlone(text: string): boolean {
  return normaliseCode(text) !== undefined;
}

/**
 * Reads an invitation. For a code alone, the host names its publisher, and the publication under that name the key server. Both are proved like
 * any link afterwards.
 *
 * @throws ReaderError `link-malformed`, `code-refused`, `host-unreachable`; KeyError `host-proof`; PublicationError, ReadingError
 */
export async function readInvitation(
  upstream: Upstream,
  text: string,
  site: string | undefined,
  dnsServers: readonly string[] | undefined,
): Promise<InvitationLink> {
  const code = normaliseCode(text);
  if (code === undefined) return parseInvitationLink(text);
  if (site === undefined)
    throw new ReaderError('link-malformed', 'a code alone does not say which site it is for', { typed: true });
  const publisher = await publisherOfHost(site, { dispatcher: upstream.direct, dnsServers });
  return { origin: await findKeyServer(upstream, site, publisher), code, publisher };
}

async function findKeyServer(upstream: Upstream, site: string, publisher: KeyId): Promise<string> {
  const content = [`https://${site}`, `http://${site}`];
  const { descriptor } = await fetchPublishedDescriptor(upstream, { site, publisher, content });
  if (descriptor.publisher !== publisher || !descriptor.sites.some((one) => one.site === site))
    throw new KeyError('host-proof', `what the publisher of ${site} signed does not name the site`);
  return descriptor.keyServer;
}

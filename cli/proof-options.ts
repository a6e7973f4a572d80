/** How commands that connect with publishers are told about the proofs of hosts. */
import { Resolver } from 'node:dns';
import { type Command, InvalidArgumentError } from 'commander';
import { isSite } from '../core/site/site.ts';

export interface ProofFlags {
  readonly trustSite?: readonly string[];
  readonly dnsServer?: readonly string[];
}

/** Adds `trustSite` and `dnsServer` to a command. */
export function addProofOptions(command: Command): Command {
  return command
    .option(
      '--trust-site <host>',
      'believe that HOST belongs to the publisher without a proof, for development; may be repeated',
      collectSite,
    )
    .option('--dns-server <address>', 'ask this DNS server for proofs; may be repeated', collectDnsServer);
}

function collectSite(text: string, previous: readonly string[] = []): readonly string[] {
  const site = text.toLowerCase();
  if (!isSite(site)) throw new InvalidArgumentError('a site is a host name, like news.example');
  return [...previous, site];
}

function collectDnsServer(text: string, previous: readonly string[] = []): readonly string[] {
  try {
    new Resolver().setServers([text]);
  } catch {
    throw new InvalidArgumentError('a DNS server is an IP address, perhaps with a port, like 192.0.2.1:53');
  }
  return [...previous, text];
}

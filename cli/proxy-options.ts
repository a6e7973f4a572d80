/** The options of `wispr proxy`, which a service that starts it has as well. */
import { type Command, InvalidArgumentError } from 'commander';
import { DEFAULT_PORT } from '../client-proxy/index.ts';
import { addCacheOption, type CacheFlags } from './cache-options.ts';
import { addParentProxyOptions, type ParentProxyFlags } from './parent-proxy.ts';
import { addProofOptions, type ProofFlags } from './proof-options.ts';
import { addReaderOptions, type ReaderFlags } from './reader-options.ts';

/** How the proxy runs, whether by hand or as a service. */
export interface ProxyFlags extends ReaderFlags, CacheFlags, ParentProxyFlags, ProofFlags {
  readonly port?: number;
  readonly otherUsers?: boolean;
}

/** Those of {@link ProxyFlags}. */
export function addProxyOptions(command: Command): Command {
  command
    .option(
      '-p, --port <port>',
      `the port to listen on; 0 takes a free one (default: that of the settings, or ${DEFAULT_PORT}; where another program has it, a free one from now on)`,
      parsePort,
    )
    .option('--other-users', 'serve every user of this machine, not only the one who runs it');
  return addReaderOptions(addCacheOption(addParentProxyOptions(addProofOptions(command))));
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('a port is a number from 0 to 65535.');
  return port;
}

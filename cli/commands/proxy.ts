/** `wispr proxy`: runs the personal proxy until it is told to stop. */
import { type Command, InvalidArgumentError } from 'commander';
import { type RunningProxy, startProxy } from '../../client-proxy/index.ts';
import { addCacheOption, type CacheFlags, cacheOptions } from '../cache-options.ts';
import { addProofOptions } from '../proof-options.ts';
import { addReaderOptions, type ReaderFlags, readerOptions } from '../reader-options.ts';
import { printable } from '../terminal.ts';
import { print, say } from '../voice.ts';

interface ProxyFlags extends ReaderFlags, CacheFlags {
  readonly port?: number;
  readonly trustSite?: readonly string[];
  readonly dnsServer?: readonly string[];
  readonly parentProxy?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export function addProxyCommand(program: Command): void {
  const command = program
    .command('proxy')
    .description('run the personal proxy and its gateway, on this machine only')
    .option(
      '-p, --port <port>',
      'the port to listen on; 0 takes a free one (default: that of the settings, or 8001; a free one if that is taken)',
      parsePort,
    )
    .option('--parent-proxy <url>', 'fetch all plain HTTP through this proxy, for example http://127.0.0.1:3128')
    .option('-q, --quiet', 'say nothing unless something is wrong')
    .option('--json', 'print one line of JSON when the proxy is ready');
  addReaderOptions(addCacheOption(addProofOptions(command))).action(runProxy);
}

async function runProxy(flags: ProxyFlags): Promise<void> {
  const { port, parentProxy, trustSite = [], dnsServer = [], quiet, json } = flags;
  const stopped = nextSignal();
  const proxy = await startProxy({
    ...(await readerOptions(flags)),
    ...cacheOptions(flags),
    trustSites: trustSite,
    dnsServers: dnsServer,
    ...(port !== undefined && { port }),
    ...(parentProxy !== undefined && { parentProxy }),
    // Worth a word even with --quiet: somebody changes what readers get.
    onHostFault: ({ origin, fault, code }) => {
      if (fault === 'wrong')
        say(
          `warning: ${printable(origin)} gave bytes that the publisher did not sign (${code}); nothing of them was shown`,
        );
      else if (!quiet)
        say(`${printable(origin)} ${fault === 'slow' ? 'was slower than another content host' : `failed: ${code}`}`);
    },
    ...(!quiet && { onRefusal: ({ code }, address) => say(`refused${address && ` ${printable(address)}`}: ${code}`) }),
  });
  if (json) print(JSON.stringify({ proxy: proxy.url, page: proxy.page, sites: await proxy.sites() }));
  if (!quiet) await greet(proxy);
  await stopped;
  await proxy.close();
}

async function greet(proxy: RunningProxy): Promise<void> {
  const sites = await proxy.sites();
  if (proxy.takenPort !== undefined)
    say(
      `port ${proxy.takenPort} is in use by another program: the Reader took ${proxy.port} and will keep it; bookmarks and proxy settings have to name it`,
    );
  say(`ready on ${proxy.url}, for browsers and programs that use a proxy`);
  say(`your page: ${proxy.page}`);
  for (const { site, gateway } of sites) say(`${site} without any settings: ${gateway}`);
  if (sites.length === 0)
    say('hint: no site is connected yet: your page does it with the link of an invitation, or wispr bind "URL#CODE"');
}

/** Resolves when the proxy is told to stop; registered before anything starts, so that no signal is lost. */
function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  }).then(() => undefined);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('a port is a number from 0 to 65535.');
  return port;
}

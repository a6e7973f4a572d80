/** `wispr proxy`: runs the personal proxy until it is told to stop. */
import { type Command, InvalidArgumentError } from 'commander';
import { DEFAULT_PORT, type RunningProxy, startProxy } from '../../client-proxy/index.ts';
import { describeDecision } from '../keys-place.ts';
import { addReaderOptions, type ReaderFlags, readerOptions } from '../reader-options.ts';
import { canAsk, printable } from '../terminal.ts';
import { print, say } from '../voice.ts';

interface ProxyFlags extends ReaderFlags {
  readonly port: number;
  readonly parentProxy?: string;
  readonly quiet?: boolean;
  readonly json?: boolean;
}

export function addProxyCommand(program: Command): void {
  const command = program
    .command('proxy')
    .description('run the personal proxy and its gateway, on this machine only')
    .option('-p, --port <port>', 'the port to listen on; 0 takes a free one', parsePort, DEFAULT_PORT)
    .option('--parent-proxy <url>', 'fetch all plain HTTP through this proxy, for example http://127.0.0.1:3128')
    .option('-q, --quiet', 'say nothing unless something is wrong')
    .option('--json', 'print one line of JSON when the proxy is ready');
  addReaderOptions(command).action(runProxy);
}

async function runProxy(flags: ProxyFlags): Promise<void> {
  const { port, parentProxy, quiet, json } = flags;
  const stopped = nextSignal();
  const proxy = await startProxy({
    ...(await readerOptions(flags)),
    port,
    mayStartLocked: !canAsk() && flags.passphraseFile === undefined,
    ...(parentProxy !== undefined && { parentProxy }),
    ...(!quiet && { onRefusal: ({ code }, address) => say(`refused${address && ` ${printable(address)}`}: ${code}`) }),
  });
  if (json) print(JSON.stringify({ proxy: proxy.url, sites: await proxy.sites(), locked: proxy.lock.isLocked }));
  for (const notice of proxy.notices) say(notice);
  if (!quiet) await greet(proxy);
  await stopped;
  await proxy.close();
}

async function greet(proxy: RunningProxy): Promise<void> {
  const sites = await proxy.sites();
  say(`ready on ${proxy.url}, for browsers and programs that use a proxy`);
  if (proxy.lock.isLocked) {
    say('locked: connected sites are not shown until it has its keys');
    say('hint: wispr identity unlock');
    return;
  }
  const { isFresh, place } = proxy.keysIn;
  if (isFresh && place) for (const line of describeDecision(place)) say(line);
  for (const { site, gateway } of sites) say(`${site} without any settings: ${gateway}`);
  if (sites.length === 0)
    say('hint: no site is connected yet: wispr bind "URL#CODE" connects one, even while this runs');
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

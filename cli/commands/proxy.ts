/** `wispr proxy`: runs the personal proxy until it is told to stop. */
import type { Command } from 'commander';
import { type RunningProxy, startProxy } from '../../client-proxy/index.ts';
import { type CodedError, reasonOf } from '../../core/errors.ts';
import { printable } from '../../node-support/printable.ts';
import { type OutputFlags, QUIET_OPTION } from '../io/common-options.ts';
import { stopRequested } from '../io/signals.ts';
import { canAsk } from '../io/terminal.ts';
import { print, say, sayHint } from '../io/voice.ts';
import { describeDecision } from './key-location.ts';
import { addProxyStatusCommand } from './proxy-status.ts';
import { addProxyOptions, connectionOptions, type ProxyFlags } from './reader-options.ts';

interface RunFlags extends ProxyFlags, OutputFlags {}

export function addProxyCommand(program: Command): void {
  const command = program
    .command('proxy')
    .description('run the personal proxy and its gateway, on this machine only')
    .enablePositionalOptions() // leaves options after "status" to it
    .option(...QUIET_OPTION)
    .option('--json', 'print one line of JSON when the proxy is ready');
  addProxyOptions(command).action(runProxy);
  addProxyStatusCommand(command);
}

async function runProxy(flags: RunFlags): Promise<void> {
  const { port, otherUsers = false, trustSite = [], dnsServer = [], quiet, json } = flags;
  const stopped = stopRequested();
  const proxy = await startProxy({
    ...(await connectionOptions(flags)),
    trustSites: trustSite,
    dnsServers: dnsServer,
    ...(port !== undefined && { port }),
    otherUsers,
    mayStartLocked: !canAsk() && flags.passphraseFile === undefined,
    // Said even with --quiet: what readers get is being changed on the way.
    onHostFault: ({ origin, fault, code }) => {
      if (fault === 'wrong')
        say(
          `warning: ${printable(origin)} gave bytes that the publisher did not sign (${code}); nothing of them was shown`,
        );
      else if (!quiet)
        say(`${printable(origin)} ${fault === 'slow' ? 'was slower than another content host' : `failed: ${code}`}`);
    },
    ...(!quiet && {
      onRefusal: (error, address) => say(`refused${address && ` ${printable(address)}`}: ${describeRefusal(error)}`),
    }),
  });
  if (json)
    print(
      JSON.stringify({ proxy: proxy.url, page: proxy.page, sites: await proxy.sites(), locked: proxy.lock.isLocked }),
    );
  void proxy.lookAhead();
  for (const notice of proxy.notices) say(notice);
  if (!quiet) await greet(proxy);
  await stopped;
  await proxy.close();
}

/** Errors about the place of a host or the parent proxy: they are printed here, and not on the page that the client gets. */
const TOLD_HERE = /^(?:local-refused|host-unreachable|parent-proxy-(?:unreachable|answer|auth))$/;

function describeRefusal({ code, cause }: CodedError): string {
  return cause instanceof Error && TOLD_HERE.test(code) ? `${code} (${printable(reasonOf(cause))})` : code;
}

async function greet(proxy: RunningProxy): Promise<void> {
  const sites = await proxy.sites();
  if (proxy.takenPort !== undefined)
    say(
      `port ${proxy.takenPort} is in use by another program: the Reader took ${proxy.port} and will keep it; bookmarks and proxy settings have to name it`,
    );
  say(`ready on ${proxy.url}, for browsers and programs that use a proxy`);
  say(`your page: ${proxy.page}`);
  if (proxy.lock.isLocked) {
    say('locked: connected sites are not shown until it has its keys');
    sayHint('unlock it on your page, or with "wispr identity unlock"');
    return;
  }
  const { isFresh, place } = proxy.keysIn;
  if (isFresh && place) for (const line of describeDecision(place)) say(line);
  for (const { site, gateway } of sites) say(`${site} without any settings: ${gateway}`);
  if (sites.length > 0) say(`as automatic proxy configuration, for these sites only: ${proxy.url}/proxy.pac`);
  if (sites.length === 0)
    sayHint('no site is connected yet: your page does it with the link of an invitation, or wispr bind');
}

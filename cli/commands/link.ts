/** `wispr link`: a pair of relays, by which certificates of TLS 1.2 cross a narrow link once. */
import { type Command, Option } from 'commander';
import type { RunningRelay } from '../../link/index.ts';
import { printable } from '../../node-support/printable.ts';
import { collect } from '../io/arguments.ts';
import type { OutputFlags } from '../io/common-options.ts';
import { stopRequested } from '../io/signals.ts';
import { print, say } from '../io/voice.ts';

interface RelayFlags extends OutputFlags {
  readonly listen: string;
  readonly from?: readonly string[];
  readonly store: string;
}

interface NearFlags extends RelayFlags {
  readonly far: string;
  readonly to?: string;
  readonly transparent?: boolean;
  readonly fill?: readonly string[];
}

interface FarFlags extends RelayFlags {
  readonly allowLocal?: readonly string[];
}

export function addLinkCommand(program: Command): void {
  const link = program
    .command('link')
    .description('run a relay on one side of a narrow link: certificates of TLS 1.2 cross it once');
  const near = link
    .command('near')
    .description('run the relay beside the clients, as their proxy for https')
    .requiredOption('--far <host:port>', 'the relay on the other side')
    .option('--to <host:port>', 'take connections for this server only, and be no proxy')
    .addOption(new Option('--transparent', 'take connections that the system diverts here').conflicts('to'))
    .option('--fill <file...>', 'remember these chains of servers (PEM) beforehand');
  addRelayOptions(near, { listen: '127.0.0.1:8098', store: 'link-near.db', whose: 'clients' }).action(runNear);
  const far = link
    .command('far')
    .description('run the relay beside the servers, and connect to them')
    .option(
      '--allow-local <host>',
      'HOST[:PORT] or ADDRESS/BITS of this computer or its network to allow; repeatable',
      collect,
    );
  addRelayOptions(far, { listen: '127.0.0.1:8099', store: 'link-far.db', whose: 'near relays' }).action(runFar);
}

interface Defaults {
  readonly listen: string;
  readonly store: string;
  readonly whose: string;
}

function addRelayOptions(command: Command, { listen, store, whose }: Defaults): Command {
  return command
    .option('--listen <address:port>', 'where it listens', listen)
    .option('--from <address>', `ADDRESS or ADDRESS/BITS of ${whose}, besides this machine; repeatable`, collect)
    .option('--store <file>', 'what it remembers of certificates', store)
    .option('-q, --quiet', 'say only that it is ready')
    .option('--json', 'print one line of JSON when it is ready');
}

async function runNear({ quiet, json, ...options }: NearFlags): Promise<void> {
  const { startNear } = await import('../../link/index.ts');
  const { to, far, transparent } = options;
  const clients = transparent ? 'for diverted connections' : 'as a proxy for https';
  const ready = `ready ${to === undefined ? clients : `for ${printable(to)}`} on`;
  await run(() => startNear({ ...options, ...logger(quiet) }), `${ready} ADDRESS, by way of ${printable(far)}`, json);
}

async function runFar({ quiet, json, ...options }: FarFlags): Promise<void> {
  const { startFar } = await import('../../link/index.ts');
  await run(() => startFar({ ...options, ...logger(quiet) }), 'ready for near relays on ADDRESS', json);
}

async function run(start: () => Promise<RunningRelay>, ready: string, json: boolean | undefined): Promise<void> {
  const stopped = stopRequested();
  const relay = await start();
  if (json) print(JSON.stringify({ address: relay.address, port: relay.port }));
  say(ready.replace('ADDRESS', relay.address));
  await stopped;
  await relay.close();
}

function logger(quiet: boolean | undefined) {
  return quiet ? {} : { report: (what: string) => say(printable(what)) };
}

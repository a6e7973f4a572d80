/** `wispr bind`: connects this device with a publisher. */
import { type Command, InvalidArgumentError } from 'commander';
import {
  type BindingSummary,
  bindSite,
  type ConnectionRequest,
  DEFAULT_PORT,
  gatewayUrl,
  isCodeAlone,
} from '../../client-proxy/index.ts';
import { isSite } from '../../core/site/site.ts';
import { printable } from '../../node-support/printable.ts';
import { JSON_OPTION, type OutputFlags, QUIET_OPTION, YES_OPTION } from '../io/common-options.ts';
import { currentIo } from '../io/context.ts';
import { askLine, canAsk, confirmSites } from '../io/terminal.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';
import { PROOF } from './describe.ts';
import { describeDecision } from './key-location.ts';
import {
  addProofOptions,
  addReaderOptions,
  type ProofFlags,
  type ReaderFlags,
  readerOptions,
} from './reader-options.ts';

interface BindFlags extends ReaderFlags, ProofFlags, OutputFlags {
  readonly site?: string;
  readonly yes?: boolean;
}

const MAXIMUM_INPUT = 4096;

export function addBindCommand(program: Command): void {
  const command = program
    .command('bind')
    .description('connect this device with a publisher, by the link of an invitation')
    .argument(
      '[link]',
      "the invitation; left out, or '-': asked for, or read from standard input. An address without # looks for new sites",
    )
    .option('--site <site>', 'the site that a code without its link is for', parseSite)
    .option(...YES_OPTION)
    .option(...QUIET_OPTION)
    .option(...JSON_OPTION);
  addReaderOptions(addProofOptions(command)).action(runBind);
}

async function runBind(argument: string | undefined, flags: BindFlags): Promise<void> {
  const options = await readerOptions(flags);
  const link = argument === undefined || argument === '-' ? await askLink() : argument;
  const result = await bindSite({
    ...options,
    link,
    site: isCodeAlone(link) ? (flags.site ?? (await askSite())) : undefined,
    trustSites: flags.trustSite ?? [],
    dnsServers: flags.dnsServer ?? [],
    confirm: (request) => confirm(request, flags),
  });
  if (link === argument && link.includes('#') && !flags.quiet)
    say('the history of your shell keeps what was typed; without an argument, "wispr bind" asks for the link');
  if (flags.json) print(JSON.stringify(describe(result)));
  else if (!flags.quiet) report(result);
}

/** Shows who asks to be trusted for which sites, and asks for each that was not confirmed before. */
async function confirm(request: ConnectionRequest, { yes, quiet }: BindFlags): Promise<string[]> {
  if (!quiet || !yes) introduce(request);
  const open = request.sites.filter(({ confirmed }) => !confirmed).map(({ site }) => site);
  return yes ? open : confirmSites(open, 'add --yes if you trust this publisher for these sites');
}

function introduce({ name, publisher, keyServer, sites }: ConnectionRequest): void {
  say(`${printable(name)} asks to be your publisher for`);
  for (const { site, reading, proof, confirmed } of sites) {
    say(`  ${site}  (${confirmed ? 'connected already; ' : ''}${PROOF[proof]}; also read at ${reading})`);
  }
  say(`its key server: ${keyServer}`);
  say(`its fingerprint: ${publisher}`);
}

function report({ sites, port, keysNowIn, isRunning }: BindingSummary): void {
  for (const { site, label } of sites)
    say(`connected: ${site}${port === undefined ? '' : `, to be opened at ${gatewayUrl(label, port)}`}`);
  say('a browser that uses the Reader as its proxy may still show what it kept of them from before: clear that once');
  if (keysNowIn) for (const line of describeDecision(keysNowIn)) say(line);
  if (!isRunning)
    sayHint(
      '"wispr proxy" has to run while you read, and says where to open it; docs/reader.md says how it starts at every login',
    );
}

/** Describes a binding. If no Reader runs, the addresses are those that one has by default. */
function describe({ name, publisher, keyServer, sites, port, isRunning }: BindingSummary) {
  return {
    name,
    publisher,
    keyServer,
    running: isRunning,
    sites: sites.map(({ site, label }) => ({ site, gateway: gatewayUrl(label, port ?? DEFAULT_PORT) })),
  };
}

async function askLink(): Promise<string> {
  return canAsk() ? askLine('the link or code of your invitation') : readLink();
}

async function readLink(): Promise<string> {
  let text = '';
  for await (const part of currentIo().stdin.setEncoding('utf8')) {
    text += part;
    if (text.length > MAXIMUM_INPUT) throw new UsageError('standard input is too long to be the link of an invitation');
  }
  return text;
}

async function askSite(): Promise<string> {
  const site = canAsk() ? (await askLine('the site that it is for, like news.example')).toLowerCase() : '';
  if (isSite(site)) return site;
  throw new UsageError('a code alone does not say which site it is for', 'name it: --site news.example');
}

function parseSite(text: string): string {
  const site = text.toLowerCase();
  if (!isSite(site)) throw new InvalidArgumentError('a site is a host name, like news.example');
  return site;
}

/** `wispr httpcrypt serve`: takes HTTPCrypt for any HTTP server. */
import type { Command } from 'commander';
import { isHttpcryptUrl } from '../../core/httpcrypt/endpoint.ts';
import { printable } from '../../node-support/printable.ts';
import { parseWholeNumber } from '../io/arguments.ts';
import { stopRequested } from '../io/signals.ts';
import { print, say, UsageError } from '../io/voice.ts';

const MOST_MINUTES = 1440;

interface ServeFlags {
  readonly to: string;
  readonly url: string;
  readonly listen?: string;
  readonly key: string;
  readonly zone?: string;
  readonly rotate: number;
  readonly json?: boolean;
}

export function addHttpcryptCommand(program: Command): void {
  program
    .command('httpcrypt')
    .description('take HTTPCrypt: any HTTP exchange, encrypted inside plain HTTP')
    .command('serve')
    .description('stand before an HTTP server, and take HTTPCrypt for it')
    .requiredOption('--to <url>', 'the server behind, such as http://127.0.0.1:8080')
    .requiredOption('--url <url>', 'what clients reach it by: http://HOST/PATH/')
    .option('--listen <port>', '[HOST:]PORT where it listens (default: the port of --url)')
    .option('--key <file>', 'the channel key, made where there is none', 'httpcrypt.key')
    .option('--zone <file>', 'write DNS records there, for a zone to include')
    .option(
      '--rotate <minutes>',
      `announce a new server key so often: 1 to ${MOST_MINUTES}`,
      parseWholeNumber(MOST_MINUTES),
      60,
    )
    .option('--json', 'print one line of JSON when it is ready')
    .action(runServe);
}

async function runServe({ to, url, listen, rotate, json, ...options }: ServeFlags): Promise<void> {
  if (!isHttpcryptUrl(url))
    throw new UsageError(
      `${printable(url)} is no URL of an endpoint`,
      'write it like http://news.example/a/: http, and a slash at the end',
    );
  const { protocol, pathname, origin } = URL.parse(to) ?? {};
  if (!(protocol === 'http:' || protocol === 'https:') || pathname !== '/' || origin === undefined)
    throw new UsageError(`${printable(to)} is no server to stand before`, 'write it like http://127.0.0.1:8080');
  const at = listenAddress(listen ?? (new URL(url).port || '80'));
  const { serveHttpcrypt } = await import('../../httpcrypt/serve/serve.ts');
  const stopped = stopRequested();
  const report = (what: string) => say(printable(what));
  const running = await serveHttpcrypt({ ...options, to: origin, url, listen: at, rotateMinutes: rotate, report });
  const { endpoint, port } = running;
  print(json ? JSON.stringify({ endpoint, port }) : endpoint);
  say(`ready on port ${port}, before ${printable(origin)}`);
  await stopped;
  await running.close();
}

function listenAddress(text: string): { host?: string; port: number } {
  const [, bracketed, plain, digits] = /^(?:(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]+)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (!(port <= 65_535))
    throw new UsageError(`${printable(text)} is not of the form [HOST:]PORT`, 'write it like 8080 or 127.0.0.1:8080');
  const host = bracketed ?? plain;
  return { ...(host && { host }), port };
}

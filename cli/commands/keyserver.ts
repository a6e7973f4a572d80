import cluster from 'node:cluster';
import { resolve } from 'node:path';
import { isSea } from 'node:sea';
import type { Command } from 'commander';
import { reasonOf } from '../../core/errors.ts';
import {
  DEFAULT_CONFIG_FILE,
  forDevelopment,
  type KeyServerConfig,
  readConfig,
} from '../../keyserver/config/config.ts';
import { isFetchFrom, MOST_PROCESSES, postgresUrlFault } from '../../keyserver/config/schema.ts';
import { writeConfig } from '../../keyserver/config/template.ts';
import type { RunningKeyServer } from '../../keyserver/server.ts';
import { nameOfSource } from '../../keyserver/storage/master-key.ts';
import { createState } from '../../keyserver/storage/state.ts';
import { collect, parseWholeNumber } from '../io/arguments.ts';
import { currentIo } from '../io/context.ts';
import { stopRequested } from '../io/signals.ts';
import { print, say, sayHint, UsageError } from '../io/voice.ts';

interface Options {
  readonly config: string;
  readonly database?: string;
  readonly fetchFrom?: readonly string[];
  readonly processes?: number;
  readonly dev?: boolean;
  readonly json?: boolean;
}

/** `wispr keyserver`: keys for readers' devices, and the reading site for browsers. */
export function addKeyServerCommand(program: Command): void {
  program
    .command('keyserver')
    .description('run the key server and its reading site; the first run makes configuration and keys')
    .option('-c, --config <file>', 'configuration', DEFAULT_CONFIG_FILE)
    .option('--database <url>', 'first run: PostgreSQL, in place of keyserver.db')
    .option(
      '--fetch-from <site=url>',
      'first run: where the reading site finds the files of a site, like news.example=http://127.0.0.1:8080; repeatable',
      collect,
    )
    .option(
      '--processes <n>',
      'processes that answer requests, instead of "processes" of the configuration',
      parseWholeNumber(MOST_PROCESSES),
    )
    .option('--dev', 'plain HTTP on loopback, for development')
    .option('--json', 'print one line of JSON when ready')
    .action(cluster.isWorker ? work : run);
}

async function work(): Promise<void> {
  const { runWorker } = await import('../../keyserver/worker.ts');
  await runWorker();
}

async function run(options: Options): Promise<void> {
  const file = resolve(currentIo().cwd, options.config);
  const { database } = options;
  const fault = database === undefined ? undefined : postgresUrlFault(database);
  if (fault) throw new UsageError(`--database ${fault}`); // the value is not repeated: it may have a password in it
  const fetchFrom = parseFetchFrom(options.fetchFrom);
  const written = writeConfig(file, { dev: options.dev === true, database, fetchFrom });
  const configured = readConfig(file);
  if (database !== undefined && configured.database !== database)
    throw new UsageError(`${file} is there already, with another database`, 'change "database" in it');
  const other = Object.keys(fetchFrom).find((site) => configured.fetchFrom?.[site] !== fetchFrom[site]);
  if (other !== undefined)
    throw new UsageError(`${file} is there already, without that place for ${other}`, 'change "fetchFrom" in it');
  const { processes = configured.processes } = options;
  const config = { ...(options.dev ? forDevelopment(configured) : configured), processes };
  if (written) await introduce(file, config);
  if (written && !options.dev) return sayNextSteps(file);
  await serve(config, options);
}

/** SIGTERM and Ctrl-C stop the server when running requests have ended; SIGHUP reads renewed certificates. */
async function serve(config: KeyServerConfig, options: Options): Promise<void> {
  // Loaded only here: the other commands start faster without the web server.
  const { startKeyServer } = await import('../../keyserver/server.ts');
  let server: RunningKeyServer | undefined;
  let isRenewed = false;
  const reload = () => {
    if (server) void reloadCertificates(server);
    isRenewed = true;
  };
  process.on('SIGHUP', reload); // set now: while the server waits for its database, the signal would end it
  const stopping = new AbortController();
  const stopped = stopRequested().then(() => stopping.abort());
  try {
    const workerProgram = isSea() ? ['keyserver'] : [process.argv[1] ?? '', 'keyserver'];
    server = await startKeyServer(config, { signal: stopping.signal, workerProgram });
    if (isRenewed) await reloadCertificates(server);
    sayRunning(server, config, options);
    await stopped;
    await server.close();
  } catch (error) {
    if (!stopping.signal.aborted) throw error; // stopped while it started: the terminal ends its processes, too
  } finally {
    process.off('SIGHUP', reload);
  }
}

/** Reads places by site. @throws UsageError */
function parseFetchFrom(texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, site = '', place = ''] = /^([^=]+)=(.+)$/.exec(text) ?? [];
      if (isFetchFrom({ [site]: place })) return [site, place];
      throw new UsageError(`--fetch-from ${text} is not SITE=URL`, 'write it like news.example=http://127.0.0.1:8080');
    }),
  );
}

/** The first run: what was made, where it lies, and what must be kept safe. */
async function introduce(file: string, config: KeyServerConfig): Promise<void> {
  await createState(config);
  say(`this configuration was written to ${file}`);
  say(
    `the master key is ${nameOfSource(config.masterKey)}: without it the database ${config.database ?? config.data} cannot be read; keep a copy in another place`,
  );
  say(`the public key is ${config.publicKey}: give it to the publisher, who seals key bundles to it`);
}

function sayNextSteps(file: string): void {
  say(
    `next: set "origin", "reading.origin", "reading.documents.origin" and the certificates in ${file}, then run "wispr keyserver" again`,
  );
  say(
    'after that: import the publisher\'s bundle with "wispr admin import FILE", invite readers with "wispr invite NAME"',
  );
}

function sayRunning(server: RunningKeyServer, config: KeyServerConfig, { json }: Options): void {
  const { url, readingUrl, documentsUrl, metricsUrl, adminUrl, ports } = server;
  const { processes = 1 } = config;
  if (processes > 1) say(`${processes} processes answer requests`);
  if (config.dev) say('development: plain HTTP, on this machine only');
  const { reading } = config;
  sayDoor(`key server: ${url}`, url, config.listen.host, ports.keyServer, config);
  sayDoor(`reading site: ${readingUrl}`, readingUrl, reading.listen.host, ports.reading, config);
  sayDoor(`documents: ${documentsUrl}`, documentsUrl, reading.documents.listen.host, ports.documents, config);
  if (metricsUrl !== undefined) say(`metrics: ${metricsUrl}`);
  if (adminUrl !== undefined) say(`operators: ${adminUrl}`);
  if (json) {
    const { masterKey, publicKey } = config;
    print(JSON.stringify({ keyserver: url, reading: readingUrl, documents: documentsUrl, publicKey, masterKey }));
  }
}

/** Describes where a listener listens, and whether its origin leads there: without a proxy, readers come to the port of the origin. */
function sayDoor(
  what: string,
  origin: string,
  host: string,
  port: number,
  { trustedProxies = [] }: KeyServerConfig,
): void {
  say(`${what}, listening on ${host.includes(':') ? `[${host}]` : host}:${port}`);
  const { protocol, port: named } = new URL(origin);
  const expected = named === '' ? (protocol === 'https:' ? 443 : 80) : Number(named);
  if (trustedProxies.length > 0 || expected === port) return;
  say(`readers come to port ${expected} of ${origin}, where this does not listen`);
  sayHint(
    `forward port ${expected} to ${port}, set "port" to ${expected}, or set "trustedProxies" if a proxy is in front`,
  );
}

async function reloadCertificates(server: RunningKeyServer): Promise<void> {
  try {
    await server.reload();
    say('certificates were read again');
  } catch (error) {
    say(`the certificates stay as they were: ${reasonOf(error)}`);
  }
}

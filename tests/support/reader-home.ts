/** A person with a home of their own who types `wispr`, and a publisher, content host and key server for them, all real. */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ContentHost, startContentHost } from './content-host.ts';
import { startKeyServerOf, type TestKeyServer } from './key-server.ts';
import { type Ended, type ProgramOptions, startCommand } from './programs.ts';
import { type CleanUp, temporaryFolder } from './reader-rig.ts';
import { TestPublisher } from './test-publisher.ts';
import { type RunningWispr, runWispr, startWispr } from './wispr.ts';

export interface ReadyProxy {
  readonly proxy: string;
  readonly sites: { readonly site: string; readonly gateway: string }[];
}

export interface ReaderHome {
  readonly home: string;
  readonly publisher: TestPublisher;
  readonly keyServer: TestKeyServer;
  readonly host: ContentHost;
  /** Arguments that let commands reach the content host. */
  readonly connectTo: readonly string[];
  /** Puts the home into the environment. */
  atHome(options?: ProgramOptions): ProgramOptions;
  run(args: readonly string[], options?: ProgramOptions): Promise<Ended>;
  bind(...args: string[]): Promise<Ended>;
  /** Takes a free port, and ends with the test. */
  startProxy(...args: string[]): Promise<RunningWispr<ReadyProxy>>;
}

export async function startReaderHome(cleanUp: CleanUp): Promise<ReaderHome> {
  const home = await temporaryFolder(cleanUp);
  const publisher = await TestPublisher.create();
  const keyServer = cleanUp.use(await startKeyServerOf(publisher));
  const host = cleanUp.use(await startContentHost());
  await publisher.sign(host.files);
  const runtime = join(home, 'run');
  await mkdir(runtime, { mode: 0o700 });
  const folders = {
    HOME: home,
    XDG_DATA_HOME: join(home, 'data'),
    XDG_CONFIG_HOME: join(home, 'config'),
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_RUNTIME_DIR: runtime,
  };
  const atHome = ({ env, ...options }: ProgramOptions = {}): ProgramOptions => ({
    ...options,
    env: { PATH: process.env.PATH, ...folders, ...env },
  });
  const connectTo = ['--connect-to', `:80:127.0.0.1:${host.port}`, '--allow-local', '127.0.0.1'];
  const run = (args: readonly string[], options?: ProgramOptions) => runWispr(args, atHome(options));
  return {
    home,
    publisher,
    keyServer,
    host,
    connectTo,
    atHome,
    run,
    bind: async (...args) =>
      run(['bind', await keyServer.invite(), '--yes', '--trust-site', publisher.site, ...connectTo, ...args]),
    startProxy: async (...args) => {
      const running = await startWispr<ReadyProxy>(['proxy', '--port', '0', ...connectTo, ...args], atHome());
      cleanUp.add(() => running.stop('SIGKILL'));
      return running;
    },
  };
}

/** Tells whether it is a clear line on what happened, perhaps a hint, and no trace of a stack. */
export function isInTheOneVoice(stderr: string): boolean {
  const lines = stderr.trimEnd().split('\n');
  const clear = lines.length <= 2 && lines.every((line) => /^wispr: (?:hint: )?\S.*[^.]$/.test(line));
  return clear && !/\bat .*:\d+:\d+|internal error/.test(stderr);
}

/** A document of several blocks. */
export async function publishLarge({ publisher, host }: ReaderHome, path: string, length = 300_000): Promise<Buffer> {
  const content = randomBytes(length);
  const metadata = { mediaType: 'application/octet-stream' };
  await publisher.publish(host.files, path, { content, metadata, blockChunks: 1 });
  return content;
}

/** Runs a script of a shell that does the rest, with the command line of a `wispr fetch` as `$WISPR`, to be used by `eval`. */
export function fetchInShell(reader: ReaderHome, cwd: string, script: string, ...args: string[]): Promise<Ended> {
  const command = ['node', `${process.cwd()}/bin/wispr.js`, 'fetch', ...args, ...reader.connectTo];
  const options = reader.atHome({ cwd, env: { WISPR: command.map((word) => `'${word}'`).join(' ') } });
  return startCommand(['bash', '-c', script], options).ended;
}

/** A newspaper on one machine: publisher, key server, web host and Reader, as programs of their own whose disks can be full and whose clocks can be wrong. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'jsonc-parser';
import { freePort } from '../../cache-config/child.ts';
import { type Received, send } from './http-client.ts';
import { temporaryFolder, writeConfigAt } from './keyserver-rig.ts';
import { type Ended, ROOT, type RunningProgram, startProgram } from './programs.ts';
import type { ReadyProxy } from './reader-home.ts';
import { CleanUp } from './reader-rig.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';
import { startStaticHost } from './static-hosts.ts';
import { type RunningWispr, startWispr } from './wispr.ts';

const A_DAY = 315;
/** Requests all come from one address. */
const LIMITS = ['changesPerAddress', 'keyRequestsPerAddress', 'publishingPerAddress', 'requestsPerAddress'];
const DISKS = ['out', 'web', 'database'] as const;
const PRELOAD = pathToFileURL(join(ROOT, 'tests/support/observed.mjs'));

/** The path of the document with this number; each twentieth is a picture. */
function pathOf(number: number): string {
  const day = new Date(Date.UTC(2026, 0, 1 + Math.floor(number / A_DAY))).toISOString().slice(0, 10);
  return `/${day.replaceAll('-', '/')}/${number}.${number % 20 === 0 ? 'jpg' : 'html'}`;
}

export class Office {
  /** Has the folders `news` and `keys`, in which commands run, `site`, `web/site`, where it is served from, and one for each disk. */
  readonly folder = temporaryFolder();
  readonly disks = {} as Record<(typeof DISKS)[number], SmallDisk>;
  /** Origin of the key server. */
  keys = '';
  keyServer: RunningProgram | undefined;
  #proxy: RunningWispr<ReadyProxy> | undefined;
  #connectTo = '';
  readonly #cleanUp = new CleanUp();

  /** Makes a site with its keys, and starts its web host and a key server with room for so many subscribers. Nothing is published. */
  async open(documents: number, subscribers: number): Promise<void> {
    for (const name of ['site', 'news', 'keys', 'home']) mkdirSync(this.place(name), { mode: 0o700 });
    const sizes = { out: 100 + documents / 30, web: 100 + documents / 30, database: 100 + subscribers / 200 };
    for (const name of DISKS) {
      this.disks[name] = mountSmallDisk(this.place(name), Math.ceil(sizes[name]));
      this.#cleanUp.add(async () => this.disks[name].unmount());
    }
    for (let number = 0; number < documents; number++) this.write(number, 'Nothing new.');
    mkdirSync(this.place('web/site'));
    const web = await startStaticHost('python', this.place('web/site'));
    this.#cleanUp.add(() => web.stop());
    this.#connectTo = `--connect-to :80:127.0.0.1:${web.port} --allow-local 127.0.0.1`;
    const [keys, reading, pages] = [await freePort(), await freePort(), await freePort()];
    writeConfigAt(this.place('keys'), [keys, reading, pages], {
      data: '../database/keyserver.db',
      limits: Object.fromEntries(LIMITS.map((name) => [name, 1_000_000])),
      publication: { push: [this.place('web/site')] },
    });
    this.keys = `http://127.0.0.1:${keys}`;
    await this.startKeyServer();
    await this.#init(`http://127.0.0.1:${reading}`);
  }

  async #init(reading: string): Promise<void> {
    const [configuration, key] = [this.place('news/wispr.json'), readFileSync(this.place('keys/keyserver.pub'))];
    writeFileSync(this.place('news/passphrase'), 'six words that are hard to guess', { mode: 0o600 });
    await this.demand('news', `init http://news.example --key-server ${this.keys} --reading ${reading} ${PASSPHRASE}`);
    const { stdout: token } = await this.demand('keys', 'admin token');
    writeFileSync(this.place('news/token'), token, { mode: 0o600 });
    writeFileSync(this.place('news/keyserver.pub'), key);
    const settings = {
      ...{ source: '../site', out: '../out/protected', publish: '../web/site', keyServerTokenFile: 'token' },
      sets: [{ name: 'day-{yyyy}-{mm}-{dd}', path: '{yyyy}/{mm}/{dd}/**' }],
    };
    const made = parse(readFileSync(configuration, 'utf8'), [], { allowTrailingComma: true });
    writeFileSync(configuration, JSON.stringify({ ...made, ...settings }));
  }

  place(path: string): string {
    return join(this.folder, path);
  }

  /** Writes a page of 1 to 13 KiB with this text, or a picture of 60. */
  write(number: number, text: string): void {
    const file = this.place(`site${pathOf(number)}`);
    mkdirSync(dirname(file), { recursive: true });
    const filling = randomBytes(500 + ((number * 7919) % 6000)).toString('hex');
    const page = `<!doctype html><title>${number}</title><p>${text}</p><p>${filling}</p>`;
    writeFileSync(file, file.endsWith('jpg') ? randomBytes(60_000) : page);
  }

  /** Starts `wispr` in a folder. @param ahead - seconds by which its clock is */
  start(folder: string, line: string, ahead = 0): RunningProgram {
    return startProgram('bin/wispr.js', line.split(' '), this.#options(folder, ahead));
  }

  run(folder: string, line: string, ahead?: number): Promise<Ended> {
    return this.start(folder, line, ahead).ended;
  }

  /** Runs a command that has to succeed. */
  async demand(folder: string, line: string): Promise<Ended> {
    const ended = await this.run(folder, line);
    if (ended.code !== 0) throw new Error(`${line}: ${ended.code}: ${ended.stderr}`);
    return ended;
  }

  publish(): Promise<Ended> {
    return this.demand('news', PUBLISH);
  }

  async startKeyServer(folder = 'keys', ahead = 0): Promise<void> {
    this.keyServer = await startWispr(['keyserver', '--dev'], this.#options(folder, ahead));
  }

  /** @param signal - by which it ends */
  async restartKeyServer(signal: NodeJS.Signals, folder?: string, ahead?: number): Promise<void> {
    await this.keyServer?.stop(signal);
    await this.startKeyServer(folder, ahead);
  }

  /** Status and problems. @param path - `/healthz` or `/readyz` */
  async health(path: string): Promise<string> {
    const answer = await fetch(this.keys + path);
    return `${answer.status} ${await answer.text()}`;
  }

  /** Connects the Reader. */
  bind(link: string): Promise<Ended> {
    return this.demand('home', `bind ${link} --yes --trust-site news.example ${this.#connectTo}`);
  }

  /** Starts the Reader, again if it runs. */
  async startReader(signal: NodeJS.Signals = 'SIGTERM', ahead?: number): Promise<void> {
    await this.#proxy?.stop(signal);
    const words = `proxy --port 0 --quiet ${this.#connectTo}`.split(' ');
    this.#proxy = await startWispr(words, this.#options('home', ahead));
  }

  /** Reads a document through the Reader, which looks for a newer publication. */
  read(number: number): Promise<Received> {
    const { port } = new URL(this.#proxy?.ready.proxy ?? '');
    return send(Number(port), `http://news.example${pathOf(number)}`, { headers: { 'cache-control': 'no-cache' } });
  }

  /** Costs of each command that has ended. */
  costs(): string {
    return readFileSync(this.place('costs'), 'utf8');
  }

  async close(): Promise<void> {
    await this.#proxy?.stop('SIGKILL');
    await this.keyServer?.stop('SIGKILL');
    await this.#cleanUp.run();
  }

  #options(folder: string, ahead = 0) {
    const home = this.place('home');
    const own = {
      HOME: home,
      XDG_RUNTIME_DIR: home,
      WISPR_TEST_AHEAD: `${ahead}`,
      WISPR_TEST_COSTS: this.place('costs'),
    };
    return { cwd: this.place(folder), env: { PATH: process.env.PATH, NODE_OPTIONS: `--import=${PRELOAD}`, ...own } };
  }
}

export const PASSPHRASE = '--passphrase-file passphrase';
export const PUBLISH = `publish --yes ${PASSPHRASE}`;

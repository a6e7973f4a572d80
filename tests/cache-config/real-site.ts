/** A real site, published as `wispr publish` does, and Readers that verify what comes to them through servers and caches. */
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { request } from 'undici';
import { type CacheServer, startNginx } from '../../cache-config/servers.ts';
import { bindSite, parseAllowLocal, parseConnectTo, type RunningProxy, startProxy } from '../../client-proxy/index.ts';
import { throughProxy } from '../../serve/reading.ts';
import { World } from '../../serve/world.ts';

export const SITE = 'news.example';
export const READING = 'https://read.news.example';
/** Bytes in every protected document and nowhere else, which no cache may hold. */
export const PLAINTEXT = Buffer.from('only subscribers read these very words 8d1f0c');
const DOCUMENTS = ['/index.html', '/day/index.html', '/day/photo.jpg', '/day/film.mp4', '/style.css'];
export const LARGE = '/day/large.bin';

const page = (text: string) =>
  `<!doctype html><title>A page</title><p data-wispr-excerpt>An excerpt.</p><p>${text} ${PLAINTEXT}</p>`;

export class RealSite {
  readonly folder: string;
  readonly #world: World;
  /** Data of a Reader that is connected. */
  readonly #connected: string;
  readonly #readers: RunningProxy[] = [];
  #copies = 0;

  private constructor(folder: string, world: World, connected: string) {
    this.folder = folder;
    this.#world = world;
    this.#connected = connected;
  }

  /** @param largeBytes - length of the large document */
  static async publish(largeBytes: number): Promise<RealSite> {
    const folder = await mkdtemp(join(tmpdir(), 'wispr-real-'));
    chmodSync(folder, 0o755);
    const source = join(folder, 'source');
    const write = (path: string, content: string | Buffer) => {
      mkdirSync(dirname(join(source, path)), { recursive: true });
      writeFileSync(join(source, path), content);
    };
    write('index.html', page('Front page.'));
    write('day/index.html', page('A day.'));
    write('day/photo.jpg', Buffer.concat([PLAINTEXT, randomBytes(50_000)]));
    write('day/film.mp4', Buffer.concat([randomBytes(1_000_000), PLAINTEXT, randomBytes(2_000_000)]));
    // Read in ranges only: not one of the documents that are read whole.
    write('day/clip.mp4', Buffer.concat([randomBytes(1_000_000), PLAINTEXT, randomBytes(2_000_000)]));
    write('day/large.bin', PLAINTEXT);
    truncateSync(join(source, 'day/large.bin'), largeBytes);
    write('style.css', 'body { margin: 0 }');
    const world = await World.create({ site: SITE, source, public: ['style.css'] });
    // Servers that run as another user read the protected site; keys beside it are for their owner only.
    chmodSync(dirname(world.out), 0o755);
    const keyServer = await world.startKeyServer(false);
    mkdirSync(world.out);
    await world.publish(keyServer, `http://${SITE}`);
    const connected = join(folder, 'connected');
    const site = new RealSite(folder, world, connected);
    const host = await startNginx({ root: world.out, readingOrigin: READING });
    const own = { dataDirectory: connected, keyFile: join(folder, 'reader.key'), allowLocal: ALLOWED };
    const connectTo = [parseConnectTo(`:80:127.0.0.1:${host.port}`)];
    await bindSite({ ...own, connectTo, link: await world.invite('ada', keyServer), trustSites: [SITE] });
    await host.stop();
    return site;
  }

  get root(): string {
    return this.#world.out;
  }

  /** URL paths of the objects, by the paths of their documents. */
  objects(): Map<string, string> {
    return this.#world.objects();
  }

  /** The version of the newest snapshot. */
  snapshot(): number {
    const files = readdirSync(join(this.root, '.well-known/wispr'));
    return Math.max(...files.map((file) => Number(/^(\d+)\.snapshot\.json$/.exec(file)?.[1] ?? 0)));
  }

  object(urlPath: string): Buffer {
    return readFileSync(join(this.root, decodeURIComponent(urlPath)));
  }

  /** A Reader that gets everything from a server that stands for the site, or through a forward cache, and keeps nothing. */
  async reader(server: CacheServer): Promise<RunningProxy> {
    const dataDirectory = join(this.folder, `reader-${++this.#copies}`);
    await cp(this.#connected, dataDirectory, { recursive: true });
    const way =
      server.name === 'squid'
        ? { parentProxy: server.url }
        : { connectTo: [parseConnectTo(`:80:127.0.0.1:${server.port}`)] };
    const own = { dataDirectory, keyFile: join(this.folder, 'reader.key'), allowLocal: ALLOWED };
    const reader = await startProxy({ ...own, port: 0, cacheBytes: 0, ...way });
    this.#readers.push(reader);
    return reader;
  }

  /** The documents that do not come back verified and byte for byte. */
  async differences(reader: RunningProxy, paths: readonly string[] = DOCUMENTS): Promise<string[]> {
    const wrong: string[] = [];
    for (const path of paths) {
      const got = await this.hash(reader, path);
      const hash = createHash('sha256');
      for await (const part of createReadStream(join(this.folder, 'source', path))) hash.update(part);
      if (got !== hash.digest('hex')) wrong.push(path);
    }
    return wrong;
  }

  /** SHA-256 of what a Reader answers; its status, if that is not 200. */
  async hash(reader: RunningProxy, path: string): Promise<string> {
    const dispatcher = throughProxy(reader.url);
    try {
      const { statusCode, body } = await request(`http://${SITE}${path}`, { dispatcher });
      const hash = createHash('sha256');
      for await (const part of body) hash.update(part);
      return statusCode === 200 ? hash.digest('hex') : String(statusCode);
    } finally {
      await dispatcher.close();
    }
  }

  /** Publishes another front page; gives back its SHA-256. */
  async publishAgain(text: string): Promise<string> {
    const content = page(text);
    writeFileSync(join(this.folder, 'source/index.html'), content);
    await this.#world.publishAgain();
    return createHash('sha256').update(content).digest('hex');
  }

  async remove(): Promise<void> {
    await Promise.all(this.#readers.map((reader) => reader.close()));
    await this.#world.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Addresses that a Reader has to permit where everything is on one machine. */
const ALLOWED = [parseAllowLocal('127.0.0.0/8')];

/**
 * Servers with our configuration, each started for real, in front of a real publication: what they do, as docs/caches.md says. A real Reader
 * verifies what comes out. `npm run test:release -- matrix` measures everything, with an object of a gigabyte, and writes the table.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../../cache-config/child.ts';
import {
  HOST_NAMES,
  type HostName,
  type ReverseName,
  SERVER_NAMES,
  type ServerName,
} from '../../../cache-config/parameters.ts';
import {
  type CacheServer,
  startHost,
  startNginx,
  startReverse,
  startSquid,
  startVarnish,
} from '../../../cache-config/servers.ts';
import type { RunningProxy } from '../../../client-proxy/index.ts';
import { applies, COLUMNS, type Column, QUICK, report, whyNot } from '../../cache-config/capabilities.ts';
import { LARGE, PLAINTEXT, READING, RealSite, SITE } from '../../cache-config/real-site.ts';
import { type Answer, get, LETS_PAGES_READ } from '../../cache-config/site.ts';
import { found } from '../../cache-config/stored.ts';

const WHOLE = process.env.WISPR_CACHES === 'whole';
const LARGE_BYTES = WHOLE ? 1_073_741_824 : 4_194_304;
const DOCS = new URL('../../../docs/caches.md', import.meta.url);
/** Seconds after which fallback pages expire. */
const MAX_AGE = 1;
const PATIENCE = 20_000;

let site: RealSite;
let objects: Map<string, string>;
beforeAll(async () => {
  site = await RealSite.publish(LARGE_BYTES);
  objects = site.objects();
});
afterAll(() => site?.remove());

/** A server in front of an origin of its own, or the origin itself. */
class Rig {
  readonly name: ServerName;
  readonly origin: CacheServer;
  readonly server: CacheServer;
  readonly #more: CacheServer[] = [];
  readonly clip = String(objects.get('/day/clip.mp4'));

  private constructor(name: ServerName, origin: CacheServer, server: CacheServer) {
    this.name = name;
    this.origin = origin;
    this.server = server;
  }

  static async start(name: ServerName): Promise<Rig> {
    const host = { root: site.root, readingOrigin: READING, maxAgeSeconds: MAX_AGE };
    if (isHost(name)) {
      const server = await startHost(name, host);
      return new Rig(name, server, server);
    }
    const origin = await startNginx(host);
    return new Rig(name, origin, await startCache(name, origin));
  }

  ask(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    if (this.name === 'squid') return get(`http://${SITE}`, path, { headers, through: this.server });
    return get(this.server.url, path, { headers: { host: SITE, ...headers } });
  }

  reader(): Promise<RunningProxy> {
    return site.reader(this.server);
  }

  /** Statuses of what the origin was asked for a path, once it has logged all that it was asked until now. */
  async asked(path: string): Promise<number[]> {
    const mark = `/.well-known/mark-${Math.random()}`;
    await get(this.origin.url, mark);
    await eventually(async () => (await this.origin.requests()).some(({ url }) => url === mark));
    return (await this.origin.requests()).filter(({ url }) => url === path).map(({ status }) => status);
  }

  /** Tells whether the cache answers by itself, at once or soon: some store while they answer, some fetch behind an answer. */
  async answersItself(path: string, headers?: Record<string, string>): Promise<boolean> {
    const deadline = performance.now() + (whyNot(this.name, headers ? 'rangeWarm' : 'warm') ? 300 : 5_000);
    do {
      const before = (await this.asked(path)).length;
      await this.ask(path, headers);
      if ((await this.asked(path)).length === before) return true;
    } while (performance.now() < deadline);
    return false;
  }

  /** Adds a server, which is stopped with the others. */
  async also(server: Promise<CacheServer>): Promise<CacheServer> {
    this.#more.push(await server);
    return server;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#more, this.server, this.origin].map((server) => server.stop()));
  }
}

async function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  if (!(await until(condition, PATIENCE))) throw new Error(`not in ${PATIENCE / 1000} s: ${condition}`);
}

function isHost(name: ServerName): name is HostName {
  return (HOST_NAMES as readonly string[]).includes(name);
}

/** Starts a cache with room for the large object where that can be said. */
function startCache(name: Exclude<ServerName, HostName>, behind: CacheServer): Promise<CacheServer> {
  const backend = { host: behind.host, port: behind.port };
  const largestObjectMegabytes = WHOLE ? 2048 : 64;
  const room: { readonly [Name in ReverseName]: object } = {
    'nginx-cache': {},
    'apache-cache': { largestObjectMegabytes },
    varnish: { largestObjectMegabytes, memoryMegabytes: WHOLE ? 2560 : 64, graceSeconds: 0 },
    'squid-reverse': { largestObjectMegabytes },
    haproxy: { memoryMegabytes: 64 },
    trafficserver: { diskMegabytes: WHOLE ? 4096 : 128 },
  };
  if (name === 'squid') {
    const sites = [{ site: SITE, ...backend }];
    return startSquid({ connectLoopback: true, sites, largestObjectMegabytes, diskMegabytes: 4096 });
  }
  return startReverse(name, { backend, ...room[name] });
}

/** Measures: each throws, or says whether the server does it. */
const MEASURES: { readonly [column in Column]: (rig: Rig) => Promise<boolean> } = {
  cold: async (rig) => {
    expect(await site.differences(await rig.reader())).toEqual([]);
    const path = String(objects.get('/day/photo.jpg'));
    const { status, headers, body } = await rig.ask(path, { 'accept-encoding': 'gzip, br' });
    expect([status, headers['content-type']]).toEqual([200, 'application/cache-protected']);
    expect(body.equals(site.object(path))).toBe(true);
    expect(headers['cache-control']).toMatch(/^(?=.*no-transform)(?=.*public)(?=.*max-age=31536000)/);
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers).toMatchObject(LETS_PAGES_READ);
    expect(headers['content-length']).toBe(String(body.length));
    for (const field of ['content-encoding', 'vary', 'set-cookie', 'via'])
      expect(headers[field], field).toBeUndefined();
    // Metadata, revalidated by a client.
    const timestamp = '/.well-known/wispr/timestamp.json';
    const first = await rig.ask(timestamp);
    expect(first.headers['cache-control']).toMatch(/max-age=60/);
    const again = await rig.ask(timestamp, { 'if-none-match': String(first.headers.etag) });
    expect([again.status, again.body.length]).toEqual([304, 0]);
    return true;
  },
  warm: (rig) => rig.answersItself(String(objects.get('/index.html') ?? objects.get('/day/photo.jpg'))),
  revalidated: async (rig) => {
    await rig.ask('/style.css');
    const before = (await rig.asked('/style.css')).length;
    await eventually(async () => {
      await rig.ask('/style.css');
      return (await rig.asked('/style.css')).length > before;
    });
    return (await rig.asked('/style.css'))[before] === 304;
  },
  rangeCold: async (rig) => {
    const object = site.object(rig.clip);
    for (const first of [1_200_000, 0, object.length - 100]) {
      const { status, headers, body } = await rig.ask(rig.clip, { range: `bytes=${first}-${first + 99}` });
      expect([status, headers['content-range']]).toEqual([206, `bytes ${first}-${first + 99}/${object.length}`]);
      expect(body.equals(object.subarray(first, first + 100))).toBe(true);
      expect(headers).toMatchObject(LETS_PAGES_READ);
    }
    return true;
  },
  rangeWarm: (rig) => rig.answersItself(rig.clip, { range: 'bytes=1200000-1200099' }),
  missing: async (rig) => {
    for (const path of ['/.well-known/wispr/2.root.json', `/${'0'.repeat(64)}.absent.html.protected`]) {
      const { status, headers } = await rig.ask(path);
      expect([path, status]).toEqual([path, 404]);
      expect(headers).toMatchObject(LETS_PAGES_READ);
      expect(headers['cache-control'] ?? '').not.toContain('max-age');
    }
    return true;
  },
  fallback: async (rig) => {
    for (const query of ['?a=1', '?a=2&next=%2Fday%2F', '']) {
      const { status, headers } = await rig.ask(`/day/film.mp4${query}`);
      expect([status, headers.location]).toEqual([302, `${READING}/day/film.mp4${query}`]);
    }
    return true;
  },
  plaintext: async (rig) => {
    const path = String(objects.get('/day/photo.jpg'));
    await rig.ask(path);
    const needles = [site.object(path).subarray(-64), PLAINTEXT];
    // The search finds what is there.
    await eventually(() => found(rig.server, needles)[0] === true);
    return found(rig.server, needles)[1] === false;
  },
  gigabyte: async (rig) => {
    const reader = await rig.reader();
    expect(await site.differences(reader, [LARGE])).toEqual([]);
    const path = String(objects.get(LARGE));
    const before = (await rig.asked(path)).length;
    expect(await site.differences(reader, [LARGE])).toEqual([]);
    return isHost(rig.name) || (await rig.asked(path)).length === before;
  },
  publication: async (rig) => {
    // A file that is asked for before it exists is there soon after it does.
    await rig.ask(`/.well-known/wispr/${site.snapshot() + 1}.snapshot.json`);
    const reader = await rig.reader();
    const old = await site.hash(reader, '/index.html');
    let done = false;
    const seen = new Set<string>();
    const reading = Array.from({ length: 4 }, async () => {
      while (!done) seen.add(await site.hash(reader, '/index.html'));
    });
    const current = await site.publishAgain(`Published while readers read, through ${rig.name}.`);
    await reader.check();
    await eventually(async () => (await site.hash(reader, '/index.html')) === current);
    done = true;
    await Promise.all(reading);
    expect([...seen].filter((hash) => hash !== old && hash !== current)).toEqual([]);
    objects = site.objects();
    return true;
  },
  restart: async (rig) => {
    const path = String(objects.get('/day/photo.jpg'));
    await rig.ask(path);
    // Traffic Server writes its index every five seconds, and says so nowhere.
    if (rig.name === 'trafficserver') await until(async () => (await rig.ask(path)).status !== 200, 12_000);
    await rig.server.restart();
    const before = (await rig.asked(path)).length;
    const { body } = await rig.ask(path);
    expect(body.equals(site.object(path))).toBe(true);
    return (await rig.asked(path)).length === before;
  },
  down: async (rig) => {
    const reader = await rig.reader();
    expect(await site.differences(reader, ['/day/photo.jpg'])).toEqual([]);
    await rig.ask('/style.css');
    await rig.origin.stop();
    // Copies of objects are fresh for a year.
    expect(await site.differences(reader, ['/day/photo.jpg'])).toEqual([]);
    // The style sheet is asked for until it has expired, by any clock.
    const deadline = performance.now() + 1000 * (MAX_AGE + 2);
    let answer = await rig.ask('/style.css');
    while (performance.now() < deadline && answer.status === 200) answer = await rig.ask('/style.css');
    return answer.status === 200 && answer.body.equals(readFileSync(join(site.root, 'style.css')));
  },
  tiers: async (rig) => {
    const origin = await rig.also(startNginx({ root: site.root, readingOrigin: READING }));
    const varnish = await rig.also(startVarnish({ backend: origin }));
    for (const behind of [origin, varnish]) {
      const near = rig.name === 'squid' ? behind : await rig.also(startCache(rig.name as ReverseName, behind));
      const squid = await rig.also(startCache('squid', near));
      const reader = await site.reader(squid);
      for (const _ of ['cold', 'warm']) expect(await site.differences(reader)).toEqual([]);
    }
    return true;
  },
};

/** Measures one server; gives back what it does otherwise than expected. */
async function measure(name: ServerName): Promise<Partial<Record<Column, boolean>>> {
  const rig = await Rig.start(name);
  const unexpected: Partial<Record<Column, boolean>> = {};
  try {
    for (const column of (WHOLE ? COLUMNS : QUICK).filter((each) => applies(name, each))) {
      const does = await MEASURES[column](rig).catch((error: Error) => {
        throw new Error(`${name}, ${column}: ${error.message}`, { cause: error });
      });
      if (does !== (whyNot(name, column) === undefined)) unexpected[column] = does;
    }
  } finally {
    await rig.stop();
  }
  return unexpected;
}

describe('with our configuration', () => {
  /** Measurements, all at once: most of the time is spent waiting for copies to expire. */
  const measuring = new Map<ServerName, Promise<unknown>>();
  beforeAll(() => {
    if (WHOLE) return;
    for (const name of SERVER_NAMES)
      measuring.set(
        name,
        measure(name).catch((error: Error) => error),
      );
  });
  afterAll(() => Promise.all(measuring.values()));

  test.each(SERVER_NAMES)('%s does what docs/caches.md says', async (name) => {
    const unexpected = await (measuring.get(name) ?? measure(name));
    if (unexpected instanceof Error) throw unexpected;
    expect(unexpected).toEqual({});
  });
});

test('docs/caches.md has the report', () => {
  const [before, after] = ['<!-- matrix -->\n', '\n<!-- end of matrix -->'];
  const text = readFileSync(DOCS, 'utf8');
  const [start, end] = [text.indexOf(before) + before.length, text.indexOf(after)];
  const written = `${text.slice(0, start)}${report()}${text.slice(end)}`;
  if (WHOLE) writeFileSync(DOCS, written);
  expect(written === text || WHOLE, 'npm run test:release -- matrix writes it').toBe(true);
});

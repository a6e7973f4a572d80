/** Shows `wispr publish` of a large site: what changed, a part in turn, what is named alone; and when. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import type { PublishRun, PublishSummary } from '../../publisher/publish/publish.ts';
import { rollBack } from '../../publisher/publish/rollback.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { alteredTarget, unwritable } from '../support/altered-target.ts';
import { startContentHost } from '../support/content-host.ts';
import { Publishing, publicationAt, targetsOf } from '../support/publishing.ts';
import { startS3Server } from '../support/s3-server.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { inRelease } from '../support/tier.ts';
import { createWorkspace, snapshot, type TestWorkspace } from '../support/workspace.ts';

const page = (text: string) => `<!doctype html><title>A page</title><p data-wispr-excerpt>${text}</p><p>Rest.</p>`;
const DOCUMENTS = 40;
/** Documents in turn: a tenth of all. */
const IN_TURN = 4;
const places = new TargetPlaces();
let place: string;
let made: TestWorkspace;
let the: Publishing;
let looked: string[];
let puts: string[];

beforeEach(async () => {
  ({ place } = await places.next());
  const names = Array.from({ length: DOCUMENTS - 1 }, (_, number) => `part-${number % 3}/${number}.html`);
  const files = Object.fromEntries(names.map((name) => [name, page(name)]));
  made = await createWorkspace({ ...files, 'style.css': 'p {}' }, { public: ['*.css'], ...targetsOf(place) });
  the = new Publishing(made);
  [looked, puts] = [[], []];
  the.changes = {
    options: { inTurn: IN_TURN },
    target: (target) =>
      alteredTarget(target, {
        head: (path) => {
          looked.push(path);
          return target.head(path);
        },
        list: (prefix) => {
          if (prefix === '/') looked.push('everything');
          return target.list(prefix);
        },
        upload: (path, ...rest) => {
          puts.push(path);
          return target.upload(path, ...rest);
        },
      }),
  };
});
afterEach(() => made.remove());

const found = async () => (await verifyTree(place)).findings.map(({ path, code }) => `${path} ${code}`);
const isDocument = (path: string) => !path.startsWith(METADATA_PATH) && !path.startsWith('/.well-known/');

async function publish(run: Partial<PublishRun> = {}): Promise<PublishSummary['targets'][number]> {
  looked.length = puts.length = 0;
  const { targets } = (await the.publish(run)).summary;
  if (targets[0] === undefined) throw new Error('it was published');
  return targets[0];
}

it('looks only at what changed and at a part in turn, and leaves the target as a look at everything does', async () => {
  await publish();
  expect(looked).toContain('everything');
  await made.write('part-0/0.html', page('Changed.'));
  await made.write('new.html', page('New.'));
  await rm(join(made.source, 'part-1/1.html'));
  expect(await publish()).toMatchObject({ removed: 1, repaired: 0 });
  expect(
    puts
      .filter(isDocument)
      .map((path) => path.replace(/[0-9a-f]{64}\./, ''))
      .sort(),
  ).toEqual(['/new.html', '/new.html.protected', '/part-0/0.html', '/part-0/0.html.protected']);
  expect(looked).not.toContain('everything');
  expect(new Set(looked.filter(isDocument)).size).toBeLessThan(DOCUMENTS);
  expect(await found()).toEqual([]);
  expect(await publish({ inTurn: 'all', protect: { checkAll: true } })).toMatchObject({ files: 0, removed: 0 });
});

inRelease(() => {
  it('looks only at what changed at a bucket too', async () => {
    const server = await startS3Server();
    try {
      for (const [name, value] of Object.entries(server.environment)) vi.stubEnv(name, value);
      await server.bucket('news');
      await made.configure(targetsOf('s3://news/today'));
      await publish();
      await made.write('part-0/0.html', page('Changed.'));
      await rm(join(made.source, 'part-1/1.html'));
      expect(await publish()).toMatchObject({ removed: 1, repaired: 0 });
      expect(looked).not.toContain('everything');
      expect(puts.filter(isDocument)).toHaveLength(2);
      expect(await publish({ inTurn: 'all' })).toMatchObject({ files: 0, removed: 0 });
    } finally {
      vi.unstubAllEnvs();
      await server.stop();
    }
  });
});

it.each([
  ['at once where everything is compared byte for byte', 1, 'all'],
  ['in turn', 12, DOCUMENTS / 4],
] as const)('finds and replaces what was changed or removed at a target: %s', async (_, most, inTurn) => {
  await publish();
  const names = [...(await snapshot(place)).keys()];
  const [altered = '', gone = ''] = ['0.html.protected', '4.html'].map(
    (end) =>
      names.find(
        (name) => name.endsWith(`part-0/${end}`) || new RegExp(`^part-\\d/[0-9a-f]{64}\\.${end}$`).test(name),
      ) ?? names.find((name) => name.endsWith(end)),
  );
  const bytes = await readFile(join(place, altered));
  await writeFile(join(place, altered), inTurn === 'all' ? Buffer.from(bytes).reverse() : bytes.subarray(1));
  await rm(join(place, gone));
  let repaired = 0;
  for (let run = 0; run < most && repaired < 2; run++) repaired += (await publish({ inTurn })).repaired;
  expect(repaired).toBe(2);
  expect(await found()).toEqual([]);
});

it.each<[string, () => Promise<unknown>]>([
  [
    'shows another publication than was left there',
    async () => {
      const before = await snapshot(place);
      await made.write('part-0/0.html', page('Changed.'));
      await publish();
      for (const [path, bytes] of before) await writeFile(join(place, path), Buffer.from(bytes, 'base64'));
    },
  ],
  ['is remembered by a database that was lost', () => rm(join(made.directory, 'publisher.db'))],
  [
    'has another address',
    async () => {
      ({ place } = await places.next());
      await made.configure(targetsOf(place));
    },
  ],
])('compares everything with a target that %s', async (_, disturb) => {
  await publish();
  await publish();
  expect(looked).not.toContain('everything');
  await disturb();
  await publish();
  expect(looked).toContain('everything');
  expect(await found()).toEqual([]);
});

inRelease(() => {
  it('remembers nothing of an upload that was broken off, and of a target that was left behind', async () => {
    await publish();
    const { changes } = the;
    for (const name of ['part-0/0.html', 'part-0/3.html']) {
      await made.write(name, page('Changed.'));
      let left = 2;
      const upload = (target: Target) => {
        const broken = unwritable()(target);
        return alteredTarget(target, { upload: (...put) => (left-- > 0 ? target : broken).upload(...put) });
      };
      the.changes = { ...changes, target: upload };
      await expect(publish()).rejects.toMatchObject({ code: 'target-unreachable' });
      the.changes = changes;
    }
    await publish();
    expect(looked).not.toContain('everything');
    expect(await found()).toEqual([]);
  });

  it('goes back and on again, and withdraws, without a look at everything', async () => {
    await publish();
    await made.write('part-0/0.html', page('A mistake.'));
    await made.write('style.css', 'p { color: red }');
    await made.write('new.html', page('New.'));
    await rm(join(made.source, 'part-1/1.html'));
    await publish();
    looked.length = 0;
    await the.on((site) => rollBack(site, undefined, async () => {}));
    expect(await found()).toEqual([]);
    expect([...(await snapshot(place)).keys()]).not.toContain('new.html');
    await publish();
    expect(await found()).toEqual([]);
    expect([...(await snapshot(place)).keys()]).not.toContain('part-1/1.html');
    expect(await readFile(join(place, 'style.css'), 'utf8')).toBe('p { color: red }');
    await the.withdraw();
    await made.write('part-0/0.html', page('Put right.'));
    await publish();
    expect(looked).not.toContain('everything');
    expect(await found()).toEqual([]);
  });
});

it('publishes a few documents alone, and leaves all else as it was protected last', async () => {
  await publish();
  for (const name of ['part-0/0.html', 'part-0/3.html']) await made.write(name, page('Changed.'));
  await rm(join(made.source, 'part-2/2.html'));
  await made.write('part-9/new.html', page('New.'));
  const { protection } = await the.publish({
    inTurn: 0,
    protect: { only: ['/part-0/0.html', '/part-2/2.html', '/part-9'] },
  });
  expect(protection?.changes).toMatchObject({ changed: 1, added: 1, removed: 1 });
  expect(await found()).toEqual([]);
  const names = [...(await snapshot(place)).keys()];
  expect(names).toContain('part-9/new.html');
  expect(names).not.toContain('part-2/2.html');
  expect((await the.publish()).protection?.changes).toMatchObject({ changed: 1, added: 0, removed: 0 });
});

it('refuses to publish a picture alone that has changed, and is public only because a page named it', async () => {
  const names = (image: string) =>
    page('A page.').replace('<title>', `<meta property="og:image" content="${image}"><title>`);
  await made.write('part-0/0.html', names('/part-0/cover.png'));
  await made.write('part-0/cover.png', 'in clear');
  await publish();
  await made.write('part-0/0.html', page('No picture.'));
  await made.write('part-0/cover.png', 'for subscribers alone');
  const only = ['/part-0/0.html', '/part-0/cover.png'];
  await expect(publish({ protect: { only } })).rejects.toMatchObject({ code: 'not-alone' });
  expect(JSON.stringify([...(await snapshot(place))])).not.toContain('for subscribers');
});

it.each<[string, string, () => Promise<unknown>]>([
  [
    'that the site does not have and had not',
    'argument-invalid',
    () => rm(join(made.source, 'part-0/0.html')).then(() => publish()),
  ],
  ['after the settings have changed', 'not-alone', () => made.configure({ name: 'Another name' })],
  [
    'after a rollback, which everything else would undo',
    'not-alone',
    async () => {
      await made.write('part-0/0.html', page('A mistake.'));
      await publish();
      await the.on((site) => rollBack(site, undefined, async () => {}));
    },
  ],
  ['before the whole site was published', 'not-alone', () => rm(join(made.directory, 'publisher.db'))],
])('refuses to publish a document alone %s', async (_, code, prepare) => {
  await publish();
  await prepare();
  const before = await snapshot(place);
  await expect(publish({ protect: { only: ['/part-0/0.html'] } })).rejects.toMatchObject({ code });
  expect(await snapshot(place)).toEqual(before);
});

it('sends nothing before its time, tells the key server of no publication, and lets nothing else publish meanwhile', async () => {
  const host = await startContentHost();
  const asked: string[] = [];
  for (const path of ['/v1/publishing', '/v1/bundle', '/v1/publication']) {
    host.handlers.set(path, (request, response) => {
      request.resume();
      asked.push(path);
      response.writeHead(200).end('{}');
    });
  }
  try {
    await publish();
    await made.write('part-0/0.html', page('Embargoed.'));
    await writeFile(join(made.directory, 'keys.bundle'), 'a bundle');
    the.changes = { ...the.changes, token: 'token-0123456789-abcdefgh', keyServer: host.origin };
    const before = await snapshot(place);
    const waiting = Promise.withResolvers<void>();
    const at = nowInSeconds() + 5;
    const published = the.publish({ at, onWaiting: () => waiting.resolve() });
    await waiting.promise;
    await expect(new Publishing(made).publish()).rejects.toMatchObject({ code: 'store-busy' });
    while (Date.now() / 1000 < at - 0.5) {
      expect(await snapshot(place)).toEqual(before);
      expect(asked.filter((path) => path !== '/v1/publishing')).toEqual([]);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect((await published).summary).toMatchObject({ publication: 2, behind: [] });
    expect(Date.now() / 1000).toBeGreaterThanOrEqual(at);
    expect(asked).toContain('/v1/bundle');
    expect(await found()).toEqual([]);
  } finally {
    await host.close();
  }
});

it('sends nothing where a run that waits has been overtaken by another copy of the workspace', async () => {
  await publish();
  const other = await the.copy();
  await made.write('part-0/0.html', page('Embargoed.'));
  let overtaken: Promise<Map<string, string>> | undefined;
  const onWaiting = () => {
    overtaken ??= other.withdraw().then(() => snapshot(place));
  };
  const at = nowInSeconds() + 6;
  await expect(the.publish({ at, onWaiting })).rejects.toMatchObject({ code: 'publication-older' });
  expect(await snapshot(place)).toEqual(await overtaken);
  expect(await publicationAt(place)).toBe(2);
});

/** Files that `wispr publish` sends, in which order, and what it refuses. */
import { chmod, cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { signMetadata, timestampMetadata } from '../../core/publication/writer.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { readTimestamp } from '../../publisher/authority/authority.ts';
import { rotateRole } from '../../publisher/keys/change-roots.ts';
import { TIMESTAMP_PATH } from '../../publisher/publication/files.ts';
import { rollBack } from '../../publisher/publish/rollback.ts';
import { locateTargets } from '../../publisher/publish/targets.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { alteredTarget, interrupted } from '../support/altered-target.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { asOrdinaryUser } from '../support/ordinary-user.ts';
import { startCommand } from '../support/programs.ts';
import { Publishing, pairAt, publicationAt, targetsOf } from '../support/publishing.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { createWorkspace, snapshot, type TestWorkspace } from '../support/workspace.ts';

const page = (text: string) => `<!doctype html><title>A page</title><p data-wispr-excerpt>${text}</p><p>Rest.</p>`;
const places = new TargetPlaces();
let place: string;
let made: TestWorkspace;
let the: Publishing;

beforeEach(async () => {
  ({ place } = await places.next());
  const files = { 'style.css': 'p { color: red }', 'gone.html': page('Gone.'), 'large.bin': Buffer.alloc(300_000, 7) };
  made = await createWorkspace({ ...files, 'a.html': page('A.') }, { public: ['style.css'], ...targetsOf(place) });
  the = new Publishing(made);
});
afterEach(() => made.remove());

const found = async () => (await verifyTree(place)).findings.map(({ path, code }) => `${path} ${code}`);

/** Notes what is put, and in which order. */
function record(): string[] {
  const puts: string[] = [];
  const target = (inner: Target) =>
    alteredTarget(inner, {
      upload: (path, ...rest) => {
        puts.push(path);
        return inner.upload(path, ...rest);
      },
    });
  the.changes = { ...the.changes, target };
  return puts;
}

function kindOf(path: string): number {
  if (path === TIMESTAMP_PATH) return 6;
  if (path.endsWith('.root.json')) return 5;
  if (path.startsWith(METADATA_PATH)) return path.endsWith('.snapshot.json') ? 4 : 3;
  return /\/[0-9a-f]{64}\./.test(path) ? 1 : 2;
}

describe('publishing to a directory', () => {
  it('sends everything in the safe order', async () => {
    const puts = record();
    const { summary } = await the.publish();
    expect(await snapshot(place)).toEqual(await snapshot(made.out));
    expect(summary.targets).toMatchObject([{ files: puts.length - 1, unchanged: 0, removed: 0 }]);
    expect(puts.map(kindOf)).toEqual(puts.map(kindOf).sort());
    expect(puts.at(-1)).toBe(TIMESTAMP_PATH);
    expect(await found()).toEqual([]);
    expect(summary.expires.map(({ role }) => role)).toEqual(['root', 'targets', 'documents', 'bins', 'snapshot']);
  });

  it('sends only what changed, removes pages of what is gone, and keeps what readers may still ask for', async () => {
    await the.publish();
    await made.write('a.html', page('B.'));
    await rm(join(made.source, 'gone.html'));
    const puts = record();
    const { summary } = await the.publish();
    const documents = puts.filter((path) => kindOf(path) <= 2).map((path) => path.replace(/[0-9a-f]{64}\./, ''));
    expect(documents.sort()).toEqual(['/a.html', '/a.html.protected']);
    expect(summary.targets).toMatchObject([{ removed: 1 }]);
    expect(await found()).toEqual([]);
    expect((await verifyTree(place)).leftovers).toBe(summary.targets[0]?.waiting);
  });

  it('refuses another publisher’s target', async () => {
    const other = await createWorkspace({ 'a.html': '<p>1' }, targetsOf(place));
    await the.publish();
    const before = await snapshot(place);
    await expect(new Publishing(other).publish()).rejects.toMatchObject({ code: 'output-foreign' });
    expect(await snapshot(place)).toEqual(before);
    await other.remove();
  });

  it('refuses a target with signing keys that were changed elsewhere', async () => {
    await the.publish();
    const stale = await the.copy();
    await rotateRole(made.keyOptions, 'timestamp');
    await the.publish();
    const before = await snapshot(place);
    await expect(stale.publish()).rejects.toMatchObject({ code: 'publication-other' });
    expect(await snapshot(place)).toEqual(before);
  });

  it('attack 144: refuses to undo what was published from another copy of the workspace, until told to', async () => {
    await the.publish();
    const other = await the.copy();
    await other.made.write('new.html', page('From there.'));
    await rm(join(other.made.source, 'gone.html'));
    await other.publish();
    const before = await snapshot(place);
    const refused = {
      code: 'workspace-behind',
      message: expect.stringContaining('1 document of it is not in the site here: /new.html'),
    };
    await expect(the.publish()).rejects.toMatchObject(refused);
    await expect(the.on((site) => rollBack(site, undefined, async () => {}))).rejects.toMatchObject(refused);
    await made.protect(); // makes publication 2 as well, and does not hide that the other is another one
    await expect(the.publish()).rejects.toMatchObject(refused);
    expect(await snapshot(place)).toEqual(before);
    const { summary, protection } = await the.publish({ protect: { restored: true } });
    expect(summary).toMatchObject({ publication: 3, behind: [] });
    expect(protection?.sets).toMatchObject([{ isRekeyed: true }]);
    await expect(other.publish()).rejects.toMatchObject({ code: 'workspace-behind' });
    expect((await the.publish()).summary).toMatchObject({ publication: 3 });
    await cp(join(made.directory, 'publisher.keys'), join(other.made.directory, 'publisher.keys'));
    await rm(join(other.made.source, 'a.html'));
    const message = expect.stringMatching(
      /publication 3 .*; 2 documents of it are not in the site here: \/a\.html, \/gone\.html/,
    );
    await expect(other.publish()).rejects.toMatchObject({ code: 'not-merged', message });
    expect((await other.publish({ merged: true })).summary).toMatchObject({ publication: 4, behind: [] });
    await cp(join(other.made.directory, 'publisher.keys'), join(made.directory, 'publisher.keys'));
    for (const name of ['publisher.db', 'protected']) await rm(join(made.directory, name), { recursive: true });
    await rm(join(made.source, 'style.css'));
    await expect(the.publish()).rejects.toMatchObject({
      code: 'not-merged',
      message: expect.stringContaining('/style.css'),
    });
    for (const name of ['style.css', 'new.html']) await made.write(name, page('Again.'));
    expect((await the.publish()).summary).toMatchObject({ publication: 5, behind: [] }); // files from a backup
  });

  it('attack 144: withdraws from any copy of the workspace, which is refused afterwards as before', async () => {
    await the.publish();
    const stale = await the.copy();
    for (const text of ['B.', 'C.']) {
      await made.write('a.html', page(text));
      await the.publish();
    }
    await stale.withdraw(); // withdraws what it knows: the target is left behind
    expect(await stale.withdraw()).toMatchObject({ publication: 4, behind: [] });
    await expect(stale.publish()).rejects.toMatchObject({ code: 'workspace-behind' });
    const message = expect.stringMatching(/publication 4 .*; it withdraws the site/);
    await expect(the.publish()).rejects.toMatchObject({ code: 'not-merged', message });
    expect((await the.publish({ merged: true })).summary).toMatchObject({ publication: 5, behind: [] });
    await cp(join(made.directory, 'publisher.keys'), join(stale.made.directory, 'publisher.keys'));
    await expect(stale.publish()).rejects.toMatchObject({ code: 'not-merged' });
    expect((await stale.publish({ merged: true })).summary).toMatchObject({ publication: 6, behind: [] });
  });

  it('attack 144: knows its own publication again after "out" is lost and an upload fails, and asks for no word', async () => {
    await the.publish();
    await rm(made.out, { recursive: true });
    the.changes = {
      target: (target) =>
        interrupted(
          target,
          async () => Promise.reject(new Error('away')),
          () => true,
        ),
    };
    await expect(the.publish()).rejects.toThrow();
    the.changes = {};
    expect((await the.publish()).summary).toMatchObject({ behind: [] });
    const other = await the.copy();
    await other.made.write('new.html', page('From there.'));
    await other.publish();
    await cp(join(other.made.directory, 'publisher.keys'), join(made.directory, 'publisher.keys'));
    await expect(the.publish({ protect: { restored: true } })).rejects.toMatchObject({ code: 'not-merged' });
  });

  it('refuses one of two copies of a workspace that make the same number, which goes above the other when told to', async () => {
    await the.publish();
    const other = await the.copy();
    await made.write('a.html', page('From here.'));
    await writeFile(join(other.made.source, 'a.html'), page('From there.'));
    const isMoment = (what: string) => what.endsWith('.snapshot.json');
    the.changes = { target: (target) => interrupted(target, () => other.publish(), isMoment) };
    await expect(the.publish()).rejects.toMatchObject({
      code: expect.stringMatching(/publication-other|target-changed/),
    });
    expect(await found()).toEqual([]);
    the.changes = {};
    await expect(the.publish()).rejects.toMatchObject({ code: 'workspace-behind' });
    const restored = await the.publish({ protect: { restored: true } });
    expect(restored.summary).toMatchObject({ publication: 3, behind: [] });
  });

  it('attack 28: confirms no older publication, whatever a host shows', async () => {
    await the.publish();
    const old = await readFile(join(place, TIMESTAMP_PATH));
    await made.write('a.html', page('B.'));
    await the.publish();
    await writeFile(join(place, TIMESTAMP_PATH), old);
    expect(await the.confirm()).toMatchObject({ publication: 2, behind: [] });
    expect(await publicationAt(place)).toBe(2);
  });

  it('attack 69: a timestamp of the future counts for nothing, with whatever key it was signed', async () => {
    await the.publish();
    const [, before] = await pairAt(place);
    await the.on(async ({ store }) => {
      const { timestamp } = readTimestamp(await readFile(join(place, TIMESTAMP_PATH)));
      const version = nowInSeconds() + 10_000;
      const content = timestampMetadata({ version, expires: version + 1000 }, timestamp.snapshot as never);
      await writeFile(join(place, TIMESTAMP_PATH), signMetadata(content, [store.signers.timestamp]));
    });
    expect(await the.confirm()).toMatchObject({ publication: 1, behind: [] });
    expect((await pairAt(place))[1] - before).toBeLessThan(1000);
  });

  it('a claim of a higher number counts only with its snapshot', async () => {
    await the.publish();
    await the.on(async ({ store }) => {
      const file = { version: 99, length: 10, sha256: 'a'.repeat(64) };
      const about = { version: nowInSeconds() + 10, expires: nowInSeconds() + 1000 };
      await writeFile(
        join(place, TIMESTAMP_PATH),
        signMetadata(timestampMetadata(about, file), [store.signers.timestamp]),
      );
    });
    await made.write('a.html', page('B.'));
    expect((await the.publish()).summary).toMatchObject({ publication: 2, behind: [] });
    expect(await publicationAt(place)).toBe(2);
  });

  it('attack 69: after a clock that was ahead, a new timestamp key begins anew', async () => {
    the.changes = { options: { now: () => nowInSeconds() + 86_400 } };
    await the.publish();
    the.changes = {};
    await expect(the.publish()).rejects.toMatchObject({ code: 'clock-off' });
    await rotateRole(made.keyOptions, 'timestamp');
    expect((await the.publish()).summary).toMatchObject({ behind: [] });
    expect(await found()).toEqual([]);
  });

  it('attack 69: signs nothing with a clock that is far ahead of a bucket’s', async () => {
    const clock = (time: () => number | undefined) => ({ target: (target: Target) => alteredTarget(target, { time }) });
    the.changes = clock(() => nowInSeconds() - 10_000);
    await expect(the.publish()).rejects.toMatchObject({ code: 'clock-off' });
    expect(await publicationAt(place)).toBe(0);
    for (const time of [() => nowInSeconds() - 60, () => nowInSeconds() + 10_000, () => undefined]) {
      the.changes = clock(time);
      expect((await the.publish()).summary).toMatchObject({ publication: 1 });
    }
  });

  it('attack 67: names a target that may not be written, which keeps the publication before', async () => {
    await the.publish();
    const before = await snapshot(place);
    await made.write('a.html', page('B.'));
    await chmod(places.directory, 0o755);
    const publishing = asOrdinaryUser(made.directory, () => the.publish());
    await expect(publishing).rejects.toMatchObject({ code: 'target-failed', message: expect.stringContaining(place) });
    expect(await snapshot(place)).toEqual(before);
  });

  it('refuses an output that lacks something, before anything is sent', async () => {
    await made.protect();
    const large = [...(await snapshot(made.out)).keys()].find((path) => path.endsWith('large.bin.protected')) ?? '';
    await rm(join(made.out, large));
    await expect(the.publish({ protect: undefined })).rejects.toMatchObject({ code: 'publication-missing' });
    expect(await snapshot(place).catch(() => new Map())).toEqual(new Map());
  });

  it('attack 39: never leaves the target by a link in it', async () => {
    const outside = join(places.directory, 'outside');
    await mkdir(outside);
    await mkdir(place);
    await made.write('news/1.html', page('News.'));
    await symlink(outside, join(place, 'news'));
    await expect(the.publish()).rejects.toMatchObject({ code: 'path-refused' });
    expect(await readdir(outside)).toEqual([]);
    expect(await publicationAt(place)).toBe(0);
  });

  it('takes no directory that holds the keys or the site', async () => {
    const resolve = async (target: string) => {
      const { configurationFile } = made;
      return (await locateTargets({ configurationFile, target: join(made.directory, target) })).targets;
    };
    for (const text of ['.', 'site', 'site/x', 'protected/x', '..'])
      await expect(resolve(text)).rejects.toMatchObject({ code: 'configuration-invalid' });
    await expect(resolve('wispr.json')).rejects.toMatchObject({ code: 'argument-invalid', typed: true });
    expect(await resolve('protected')).toEqual([]);
    expect(await resolve('elsewhere')).toMatchObject([{ name: join(made.directory, 'elsewhere') }]);
  });
});

it('rsync, in the three passes that docs/publish.md names, leaves a whole publication after each', async () => {
  const copied = await createWorkspace({ 'a.html': page('1'), 'gone.html': page('1') });
  onTestFinished(() => copied.remove());
  await mkdir(place);
  const passes = [
    ['--include=*/', '--include=*.protected', '--exclude=*'],
    ['--exclude=/.well-known/wispr/timestamp.json'],
    ['--delete-after'],
  ];
  for (const version of [1, 2]) {
    await copied.write('a.html', page(`${version}`));
    if (version === 2) await rm(join(copied.source, 'gone.html'));
    await copied.protect();
    for (const options of passes) {
      const rsync = startCommand(['rsync', '-rpt@-1', ...options, `${copied.out}/`, `${place}/`]);
      expect(await rsync.ended).toMatchObject({ code: 0, stderr: '' });
      const { findings } = await verifyTree(place);
      const inPublication = findings.filter(({ kind, code }) => kind !== 'extra' && code !== 'file-altered');
      if (version === 2) expect(inPublication).toEqual([]);
    }
  }
  expect(await verifyTree(place)).toMatchObject({ findings: [], publication: { version: 2 } });
});

describe('a key server', () => {
  const token = 'token-0123456789-abcdefgh';
  let host: ContentHost;
  let asked: string[];
  let status: number;

  beforeEach(async () => {
    [asked, status] = [[], 200];
    host = await startContentHost();
    for (const path of ['/v1/publishing', '/v1/bundle', '/v1/publication']) {
      host.handlers.set(path, async (request, response) => {
        request.resume();
        asked.push(`${path} ${await publicationAt(place)} ${request.headers.authorization}`);
        response.writeHead(status).end('{"error":"bundle-foreign"}');
      });
    }
    the.changes = { token, keyServer: host.origin };
    await writeFile(join(made.directory, 'keys.bundle'), 'a bundle');
  });
  afterEach(() => host.close());

  it('gets the keys before anything is sent', async () => {
    await the.publish();
    expect(asked.slice(0, 2)).toEqual([`/v1/publishing 0 Bearer ${token}`, `/v1/bundle 0 Bearer ${token}`]);
  });

  it('that refuses keeps everything as it was, and its token stays out of the message', async () => {
    status = 409;
    const refused = the.publish();
    await expect(refused).rejects.toMatchObject({ code: 'key-server-refused' });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining(token) });
    expect(await publicationAt(place)).toBe(0);
  });

  it('that is away holds up new keys, and nothing else', async () => {
    await the.publish();
    the.changes = { token, keyServer: 'http://127.0.0.1:9' };
    await expect(the.publish()).rejects.toMatchObject({ code: 'key-server-unreachable' });
    await host.close();
    the.changes = { token, keyServer: host.origin };
    await made.write('a.html', page('B.'));
    expect((await the.publish()).summary).toMatchObject({ publication: 2, behind: [] });
  });
});

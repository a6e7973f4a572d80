import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { rotateRole } from '../../publisher/keys/change-roles.ts';
import { adoptTimestamp } from '../../publisher/publish/bring-timestamp.ts';
import { handOverKeys, tellOfPublication } from '../../publisher/publish/key-server.ts';
import { type PublishOptions, publishSite } from '../../publisher/publish/publish.ts';
import { renewerOf } from '../../publisher/publish/renew-timestamp.ts';
import { resolveTarget } from '../../publisher/publish/resolve-target.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { withLock, workspaceOf } from '../../publisher/workspace.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { TargetPlaces } from '../support/target-places.ts';
import { makeTwoPublications, type TwoPublications } from '../support/two-publications.ts';
import { createWorkspace, PASSPHRASE, snapshot } from '../support/workspace.ts';

const TIMESTAMP = `${METADATA_PATH}timestamp.json`;
let two: TwoPublications;
let place: string;
let target: Target;
const places = new TargetPlaces();

beforeAll(async () => {
  two = await makeTwoPublications();
});
afterAll(async () => {
  await two.workspace.remove();
});
beforeEach(async () => {
  ({ place, target } = await places.next());
});

const workspace = () => workspaceOf(two.workspace.configurationFile);
const publish = (out: string, options: Partial<PublishOptions> = {}) =>
  publishSite({ workspace: workspace(), out, target, keysAreThere: true, ...options });
const found = async () => (await verifyTree(place)).findings.map(({ path, code }) => `${path} ${code}`);

/** A target that notes what is put there, and in which order. */
function recording(inner: Target): { target: Target; puts: string[] } {
  const puts: string[] = [];
  const put: Target['put'] = (path, source, options) => {
    puts.push(path);
    return inner.put(path, source, options);
  };
  const target: Target = {
    name: inner.name,
    list: (prefix) => inner.list(prefix),
    head: (path) => inner.head(path),
    get: (path, maximum) => inner.get(path, maximum),
    holds: (file, source) => inner.holds(file, source),
    put,
    remove: (paths) => inner.remove(paths),
    removeLeftovers: (before) => inner.removeLeftovers(before),
    close: () => inner.close(),
  };
  return { target, puts };
}

function kindOf(path: string): number {
  if (path === TIMESTAMP) return 6;
  if (path.endsWith('.root.json')) return 5;
  if (path.startsWith(METADATA_PATH)) return path.endsWith('.snapshot.json') ? 4 : 3;
  return /\/[0-9a-f]{64}\./.test(path) ? 1 : 2;
}

describe('publishing to a directory', () => {
  it('brings everything there, in the safe order', async () => {
    const { target: recorded, puts } = recording(target);
    const summary = await publish(two.first, { target: recorded });
    expect(await snapshot(place)).toEqual(await snapshot(two.first));
    expect(summary).toMatchObject({ publication: 1, unchanged: 0, removed: 0 });
    expect(summary.sent.files).toBe(puts.length - 1); // the timestamp is not counted
    expect(puts.map(kindOf)).toEqual(puts.map(kindOf).sort());
    expect(puts.at(-1)).toBe(TIMESTAMP);
    expect(await found()).toEqual([]);
    expect(summary.expires.map(({ role }) => role)).toEqual(['root', 'targets', 'documents', 'bins', 'snapshot']);
  });

  it('sends only what changed, removes pages of what is gone, and keeps what readers may still ask for', async () => {
    await publish(two.first);
    expect((await publish(two.first)).sent).toEqual({ files: 0, bytes: 0 });
    const { target: recorded, puts } = recording(target);
    const summary = await publish(two.second, { target: recorded });
    const documents = puts
      .filter((path) => kindOf(path) <= 2)
      .map((path) => path.replace(/[0-9a-f]{64}\.|\.protected$/g, ''));
    expect([...new Set(documents)].sort()).toEqual(['/news/1.html', '/news/6.html', '/news/7.html', '/style.css']);
    expect(summary.removed).toBe(1);
    expect(summary.waiting).toBeGreaterThan(4);
    expect(await target.head('/gone.html')).toBeUndefined();
    expect(await found()).toEqual([]);
    expect((await verifyTree(place)).leftovers).toBe(summary.waiting);
  });

  it('puts right what was damaged or removed at the target', async () => {
    await publish(two.first);
    await writeFile(join(place, 'style.css'), 'p { color: rad }');
    await writeFile(join(place, 'news/1.html'), 'x');
    const object = [...(await snapshot(place)).keys()].find((path) => path.endsWith('large.bin.protected')) ?? '';
    await rm(join(place, object));
    expect(await found()).toHaveLength(3);
    expect((await publish(two.first)).sent.files).toBe(3);
    expect(await found()).toEqual([]);
  });

  it('removes old files when no reader can hold the publication that names them', async () => {
    const made = await createWorkspace({ 'a.html': '<p>1', 'b.html': '<p>1' });
    const all = { workspace: workspaceOf(made.configurationFile), out: made.out, target, keysAreThere: true };
    await made.protect();
    await publishSite(all);
    await made.write('a.html', '<p>2');
    const later = nowInSeconds() + 100 * 86_400;
    await made.protect({ now: later });
    const summary = await publishSite({ ...all, now: later });
    // The publication before was replaced just now, by the clock of the target; but this clock is far ahead.
    expect(summary.removed).toBeGreaterThan(0);
    const report = await verifyTree(place, { now: later });
    expect(report).toMatchObject({ findings: [], leftovers: 0, encrypted: 2 });
    await made.remove();
  });

  it('refuses where somebody else has published', async () => {
    await publish(two.second);
    const before = await snapshot(place);
    await expect(publish(two.first)).rejects.toMatchObject({ code: 'target-newer' });
    expect(await snapshot(place)).toEqual(before);
  });

  it('refuses where somebody else has published under keys that are newer than ours', async () => {
    const made = await createWorkspace({ 'a.html': '<p>1' });
    await made.protect();
    const older = join(places.directory, 'older');
    await cp(made.out, older, { recursive: true });
    await rotateRole({ configurationFile: made.configurationFile, passphrase: PASSPHRASE }, 'timestamp');
    await made.protect();
    const all = { workspace: workspaceOf(made.configurationFile), target, keysAreThere: true };
    await publishSite({ ...all, out: made.out });
    const before = await snapshot(place);
    await expect(publishSite({ ...all, out: older })).rejects.toMatchObject({ code: 'target-newer' });
    expect(await snapshot(place)).toEqual(before);
    expect((await verifyTree(place)).findings).toEqual([]);
    await made.remove();
  });

  it('refuses another publisher’s target', async () => {
    const other = await createWorkspace({ 'a.html': '<p>1' });
    await other.protect();
    await publish(two.first);
    const before = await snapshot(place);
    const mine = publishSite({
      workspace: workspaceOf(other.configurationFile),
      out: other.out,
      target,
      keysAreThere: true,
    });
    await expect(mine).rejects.toMatchObject({ code: 'target-foreign' });
    expect(await snapshot(place)).toEqual(before);
    await other.remove();
  });

  it('leaves a newer timestamp for the same publication, and outruns one for the publication before', async () => {
    const renewed = join(places.directory, 'renewed');
    await cp(two.first, renewed, { recursive: true });
    const [now, ours] = [nowInSeconds() + 100, await readFile(join(two.second, TIMESTAMP))];
    await renewerOf(
      workspace(),
      renewed,
      PASSPHRASE,
      now,
    )({ version: now, expires: 0, snapshot: { version: 1, length: 0, sha256: '' }, withdrawn: [] });
    await publish(renewed); // as if the key server had confirmed the first publication
    const confirmed = await readFile(join(place, TIMESTAMP));
    await publish(two.first);
    expect(await readFile(join(place, TIMESTAMP))).toEqual(confirmed);
    await expect(publish(two.second)).rejects.toMatchObject({ code: 'timestamp-outrun' });
    expect(await readFile(join(place, TIMESTAMP))).toEqual(confirmed);
    const renewTimestamp = renewerOf(workspace(), two.second, PASSPHRASE, nowInSeconds());
    expect(await publish(two.second, { renewTimestamp })).toMatchObject({ publication: 2 });
    expect(await found()).toEqual([]);
    await writeFile(join(two.second, TIMESTAMP), ours);
  });

  it('attack 69: takes no timestamp of the future over, whoever signed it, and puts its own in place of it', async () => {
    const stolen = join(places.directory, 'stolen');
    await cp(two.first, stolen, { recursive: true });
    const version = nowInSeconds() + 1000;
    const snapshot = { version: 1, length: 0, sha256: '' };
    await renewerOf(workspace(), stolen, PASSPHRASE, version)({ version, expires: 0, snapshot, withdrawn: [] });
    await publish(two.first);
    const own = await readFile(join(two.first, TIMESTAMP));
    await writeFile(join(place, TIMESTAMP), await readFile(join(stolen, TIMESTAMP)));
    await adoptTimestamp({ workspace: workspace(), out: two.first, target, now: nowInSeconds() });
    expect(await readFile(join(two.first, TIMESTAMP))).toEqual(own);
    await publish(two.first);
    expect(await readFile(join(place, TIMESTAMP))).toEqual(own);
  });

  it('lets one run at a time work on a site', async () => {
    await withLock(workspace(), async () => {
      await expect(publish(two.first)).rejects.toMatchObject({ code: 'workspace-busy' });
    });
  });

  it('refuses an output that lacks something, before anything is sent', async () => {
    const lacking = join(places.directory, 'lacking');
    await cp(two.first, lacking, { recursive: true });
    const object = [...(await snapshot(lacking)).keys()].find((path) => path.endsWith('large.bin.protected')) ?? '';
    await rm(join(lacking, object));
    await expect(publish(lacking)).rejects.toMatchObject({ code: 'output-incomplete' });
    expect(await snapshot(place).catch(() => new Map())).toEqual(new Map());
  });

  it('stops when it is told to', async () => {
    const signal = AbortSignal.abort();
    await expect(publish(two.first, { signal })).rejects.toMatchObject({ code: 'stopped' });
    expect(await target.head(TIMESTAMP)).toBeUndefined();
  });

  it('attack 39: never leaves the target by a link in it', async () => {
    const outside = join(places.directory, 'outside');
    await mkdir(outside);
    await mkdir(place);
    await symlink(outside, join(place, 'news'));
    await expect(publish(two.first)).rejects.toMatchObject({ code: 'target-path' });
    expect(await snapshot(outside)).toEqual(new Map());
    expect(await target.head(TIMESTAMP)).toBeUndefined();
  });

  it('takes no directory that holds the keys or the site', async () => {
    const { directory: base, source, out } = two.workspace;
    const resolve = (text: string) => resolveTarget(text, { workspace: workspace(), source, out, base });
    for (const text of ['.', 'site', 'site/x', '/', `${out}/x`, '..'])
      await expect(resolve(text)).rejects.toMatchObject({ code: 'workspace-overlap' });
    await expect(resolve('wispr.json')).rejects.toMatchObject({ code: 'target-invalid', typed: true });
    expect(await resolve(out)).toBeUndefined();
    expect((await resolve('elsewhere'))?.name).toBe(join(base, 'elsewhere'));
  });
});

describe('the key server', () => {
  const TOKEN = 'token-0123456789-abcdefgh';
  let host: ContentHost;
  let seen: { path: string; authorization: string | undefined; body: Buffer; published: boolean }[];
  let status = 200;
  let conflict = 'publisher-key-changed';

  beforeAll(async () => {
    host = await startContentHost();
    for (const path of ['/v1/bundle', '/v1/publication']) {
      host.handlers.set(path, async (request, response) => {
        const parts: Buffer[] = [];
        for await (const part of request) parts.push(part as Buffer);
        const published = (await target.head(TIMESTAMP)) !== undefined;
        const { authorization } = request.headers;
        seen.push({ path, authorization, body: Buffer.concat(parts), published });
        response.writeHead(status).end(JSON.stringify({ error: status === 409 ? conflict : 'token-refused' }));
      });
    }
  });
  beforeEach(async () => {
    [seen, status] = [[], 200];
    await writeFile(workspace().bundle, 'a bundle');
  });
  afterAll(async () => {
    await rm(workspace().bundle);
    await host.close();
  });

  it('gets the keys before anything is sent, and the news when it is visible', async () => {
    await publish(two.first, { keysAreThere: false, keyServer: { origin: host.origin, token: TOKEN } });
    expect(seen.map(({ path, published }) => [path, published])).toEqual([
      ['/v1/bundle', false],
      ['/v1/publication', true],
    ]);
    expect(seen.map(({ authorization }) => authorization)).toEqual([`Bearer ${TOKEN}`, `Bearer ${TOKEN}`]);
    expect(seen[0]?.body.toString()).toBe('a bundle');
    const news = JSON.parse(seen[1]?.body.toString() ?? '');
    expect(Buffer.from(news.timestamp, 'base64url')).toEqual(await readFile(join(place, TIMESTAMP)));
  });

  it('that refuses keeps everything as it was, and its token stays out of the message', async () => {
    status = 401;
    const refused = publish(two.first, { keyServer: { origin: host.origin, token: TOKEN } });
    await expect(refused).rejects.toMatchObject({ code: 'key-server-refused' });
    await expect(refused).rejects.toThrow(/401, token-refused/);
    await expect(refused).rejects.not.toThrow(TOKEN);
    expect(await target.head(TIMESTAMP)).toBeUndefined();
    status = 409;
    await expect(publish(two.first, { keyServer: { origin: host.origin, token: TOKEN } })).rejects.toMatchObject({
      message: `the key server ${host.origin} refuses the keys: 409, publisher-key-changed`,
      hint: expect.stringContaining('--new-publisher-key'),
    });
  });

  it.each([
    ['another publisher’s', 'bundle-foreign', 'it has the site of another publisher'],
    ['ahead, or another publisher’s', 'metadata-rollback', 'If it is refused again, either it has the site of another'],
  ])('that is %s says so, and what to look at: %s', async (_, code, hint) => {
    [status, conflict] = [409, code];
    const access = { origin: host.origin, token: TOKEN };
    for (const run of [
      () => handOverKeys(access, Buffer.from('a bundle')),
      () => tellOfPublication(access, { timestamp: Buffer.alloc(1), roots: [], expiries: [] }),
    ])
      await expect(run()).rejects.toMatchObject({
        code: 'key-server-refused',
        message: expect.stringContaining(`409, ${code}`),
        hint: expect.stringContaining(hint),
      });
  });

  it.each([
    ['is away', 'http://127.0.0.1:9'],
    ['is behind a proxy that finds it away', undefined],
  ])('that %s holds up what is new to it, and nothing else', async (_, elsewhere) => {
    status = 503;
    const keyServer = { origin: elsewhere ?? host.origin, token: TOKEN };
    const code = 'key-server-unreachable';
    await expect(publish(two.first, { keysAreThere: false, keyServer })).rejects.toMatchObject({ code });
    expect(await target.head(TIMESTAMP)).toBeUndefined();
    const untold = { keyServerTold: false, keyServerFailure: expect.any(String) };
    expect(await publish(two.first, { keysAreThere: true, keyServer })).toMatchObject({ publication: 1, ...untold });
    expect(await publish(two.second, { keysAreThere: false, keyServer })).toMatchObject({ publication: 2, ...untold });
    expect(await found()).toEqual([]);
  });

  it('that is away holds up a new root and a new descriptor', async () => {
    const made = await createWorkspace({ 'a.txt': 'a' });
    const { out, configurationFile } = made;
    const place = await openTarget(join(made.directory, 'elsewhere'));
    const own = { workspace: workspaceOf(configurationFile), out, target: place };
    const silent = { ...own, keyServer: { origin: 'http://127.0.0.1:9', token: TOKEN } };
    const code = 'key-server-unreachable';
    await made.protect();
    await writeFile(own.workspace.bundle, 'a bundle');
    await publishSite({ ...own, keysAreThere: true });
    await rotateRole({ configurationFile, passphrase: PASSPHRASE }, 'timestamp');
    await made.protect();
    await expect(publishSite(silent)).rejects.toMatchObject({ code });
    await publishSite({ ...own, keysAreThere: true });
    expect(await publishSite(silent)).toMatchObject({ keyServerTold: false });
    const configuration = await readFile(configurationFile, 'utf8');
    await writeFile(configurationFile, configuration.replace('https://read.', 'https://lies.'));
    await made.protect();
    await expect(publishSite(silent)).rejects.toMatchObject({ code });
    await made.remove();
  });

  it('that nobody tells has to have the keys of new sets already', async () => {
    await expect(publish(two.first, { keysAreThere: false })).rejects.toMatchObject({ code: 'keys-not-handed-over' });
    await publish(two.first);
    expect(await publish(two.second, { keysAreThere: false })).toMatchObject({ publication: 2, keyServerTold: false });
  });
});

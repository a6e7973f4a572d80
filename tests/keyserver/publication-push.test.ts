/** Push targets, and what the key server does with them: docs/spec/publication.md, R4 and R5. */
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { randomBytes } from '#primitives';
import { encodeHandOver } from '../../core/publication/hand-over.ts';
import { overview } from '../../keyserver/operations/overview.ts';
import { type KeeperLimits, TimestampKeeper } from '../../keyserver/publication/keeper.ts';
import { PushTarget } from '../../keyserver/publication/push-target.ts';
import { startKeyServer } from '../../keyserver/server.ts';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { encodeRoot } from '../support/first-root.ts';
import { forEachTest } from '../support/for-file.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { HOUR, newKey, PublicationRig, putFile, timestampAt } from '../support/publication-rig.ts';
import { dripping, silent, startWaywardServer } from '../support/wayward-server.ts';

let the: PublicationRig;
afterEach(async () => {
  vi.restoreAllMocks();
  await the.close();
});

const pushes = async () => (await overview(the.rig.server.state)).publication?.pushes;
const publicationAt = async (directory: string) => (await the.read(timestampAt(directory))).snapshot.version;

describe('the key server confirms its publication every hour', () => {
  beforeEach(async () => {
    the = await PublicationRig.start();
  });

  it('and pushes the timestamp', async () => {
    const before = await the.read(await the.publish(7));
    the.rig.passTime(HOUR);
    expect(await the.run()).toBe(true);
    const after = await the.read(await the.served());
    expect(after.snapshot).toEqual(before.snapshot);
    expect([after.version > before.version, after.expires - after.version]).toEqual([true, 48 * HOUR]);
    expect(the.pushed()).toEqual(await the.served());
  });

  it('tells where other users, a web server among them, are kept from a pushed timestamp', async () => {
    chmodSync(the.site, 0o755);
    await the.publish(7);
    expect(the.rig.log()).not.toContain(`"closedAt":"${the.site}`);
    chmodSync(join(the.site, '.well-known'), 0o700);
    for (let hour = 0; hour < 2; hour++) {
      the.rig.passTime(HOUR);
      await the.run();
    }
    expect(the.rig.log().split(`"closedAt":"${the.site}/.well-known"`)).toHaveLength(2);
  });

  it('but nothing that its publisher has not handed over', async () => {
    const snapshot = the.snapshot(7);
    the.upload(the.site, 7, snapshot);
    const bytes = await the.timestamp(7, snapshot);
    putFile(the.site, 'timestamp.json', bytes);
    expect(await the.run()).toBe(true);
    expect(the.pushed()).toEqual(bytes);
    expect(await the.served()).not.toEqual(bytes);
  });

  it('attack 80: past the expiry it serves what it has, and says why nothing is signed', async () => {
    const bytes = await the.publish(7);
    await the.importTimestampKey(randomBytes(32));
    the.rig.passTime(49 * HOUR);
    expect(await the.run()).toBe(false);
    expect(the.rig.log()).toContain('timestamp-key-unusable');
    expect(await the.served()).toEqual(bytes);
  });
});

describe('a push target', () => {
  beforeEach(async () => {
    the = await PublicationRig.start();
  });

  it('gets no timestamp of a publication that does not lie there, and is tried again', async () => {
    await the.publish(7);
    const before = the.pushed();
    await the.handOver(the.snapshot(8));
    expect(the.pushed()).toEqual(before);
    expect(await pushes()).toMatchObject([{ failed: null }]); // the publisher may be bringing it
    the.rig.passTime(901);
    await the.run();
    expect(the.rig.log()).toContain('"target":1,"reason":"target-behind');
    expect(await pushes()).toMatchObject([{ failed: expect.any(Number) }]);
    the.upload(the.site, 8, await the.served('8.snapshot.json'));
    await the.run();
    expect(await publicationAt(the.site)).toBe(8);
  });

  it('gets a closing snapshot with its timestamp: the publisher may be gone before it has uploaded it', async () => {
    await the.publish(7);
    await the.handOver(the.snapshot(8, { closed: true }));
    expect(await publicationAt(the.site)).toBe(8);
    expect(readFileSync(join(the.site, '.well-known/wispr/8.snapshot.json'), 'utf8')).toContain('x-wispr-closed');
  });

  it('gets nothing under roots that do not lie there', async () => {
    await the.publish(7);
    const { root } = the.rig.publisher;
    const second = await encodeRoot(root.signers, 2, [root.signers.root]);
    const snapshot = the.snapshot(8);
    the.upload(the.site, 8, snapshot);
    await the.handOver(snapshot, { roots: [second] });
    expect(await publicationAt(the.site)).toBe(7);
    putFile(the.site, '2.root.json', second);
    await the.run();
    expect(await publicationAt(the.site)).toBe(8);
  });

  it('attack 67: that is missing keeps nothing from readers, and gets the timestamp once it is there', async () => {
    rmSync(the.site, { recursive: true });
    await the.publish(7);
    expect(existsSync(the.site)).toBe(false);
    expect(await pushes()).toMatchObject([{ succeeded: null, failed: expect.any(Number) }]);
    mkdirSync(the.site);
    the.upload(the.site, 7, await the.served('7.snapshot.json'));
    expect(await the.run()).toBe(true);
    expect(the.pushed()).toEqual(await the.served());
    expect(readdirSync(join(the.site, '.well-known', 'wispr'))).toHaveLength(3);
  });

  it('attack 66: has its timestamp where a killed run left half of one', async () => {
    putFile(the.site, '.wispr-new-0123456789ab', Buffer.from('half'));
    const bytes = await the.publish(7);
    expect(the.pushed()).toEqual(bytes);
    for (const other of [Buffer.from('<h1>Not found</h1>'), new Uint8Array(100_000)]) {
      putFile(the.site, 'timestamp.json', other);
      await the.run();
      expect(the.pushed()).toEqual(await the.served());
    }
  });
});

describe('a greater pair at a push target', () => {
  /** The publisher signs by itself, at one target. */
  async function signedThere(version: number, wish: Parameters<typeof the.snapshot>[1] = {}, signed = the.now()) {
    const snapshot = the.snapshot(version, wish);
    the.upload(the.site, version, snapshot);
    const bytes = await the.timestamp(version, snapshot, signed);
    putFile(the.site, 'timestamp.json', bytes);
    return bytes;
  }

  beforeEach(async () => {
    the = await PublicationRig.start();
    await the.publish(7);
    the.rig.passTime(HOUR);
  });

  it.each([false, true])('is adopted, and confirmed above all that readers have seen; closed: %j', async (closed) => {
    await the.run();
    const { version } = await the.read(await the.served());
    await signedThere(8, { closed }, the.now() - 30); // older than the timestamp of the key server
    expect(await the.run()).toBe(true);
    const after = await the.read(await the.served());
    expect([after.snapshot.version, after.version > version]).toEqual([8, true]);
    expect(the.pushed()).toEqual(await the.served());
    expect((await overview(the.rig.server.state)).publication?.withdrawn).toBe(closed);
    expect((await the.handOver(the.snapshot(7))).body.error).toBe('publication-older');
  });

  it('comes to the other targets as well', async () => {
    await the.close();
    const [A, B] = [temporaryFolder(), temporaryFolder()];
    the = await PublicationRig.start({ publication: { resignMinutes: 60, freshHours: 48, push: [A, B] } });
    await the.publish(7);
    const snapshot = the.snapshot(8, { closed: true });
    the.upload(B, 8, snapshot);
    the.rig.passTime(10);
    putFile(B, 'timestamp.json', await the.timestamp(8, snapshot));
    await the.run();
    expect([await publicationAt(A), await publicationAt(B)]).toEqual([8, 8]);
  });

  it('is not adopted without its snapshot, nor with one that the snapshot key has not signed; nor is it replaced', async () => {
    for (const [index, signer] of [the.signer, await newKey()].entries()) {
      const bytes = await signedThere(8 + index, { signer });
      await the.run();
      expect([the.pushed(), (await the.read(await the.served())).snapshot.version]).toEqual([bytes, 7]);
    }
    const bytes = await signedThere(10);
    rmSync(join(the.site, '.well-known/wispr/10.snapshot.json'));
    await the.run();
    expect([the.pushed(), (await the.read(await the.served())).snapshot.version]).toEqual([bytes, 7]);
  });

  it('a stolen timestamp key neither reopens with a lower publication nor withdraws with another of the same version', async () => {
    await the.publish(8, { closed: true });
    await signedThere(7, {}, the.now() + 10);
    await the.run();
    expect(await publicationAt(the.site)).toBe(8);
    const other = await signedThere(8, { targetsVersion: 2 }, the.now() + 10);
    await the.run();
    expect((await the.read(await the.served())).snapshot.version).toBe(8);
    expect((await overview(the.rig.server.state)).publication?.withdrawn).toBe(true);
    expect(the.pushed()).toEqual(other); // a fork is for people to resolve
    expect(the.rig.log()).toContain('publication-other');
  });

  it('attack 69: from the future is neither adopted nor replaced', async () => {
    const ahead = await signedThere(8, {}, the.now() + HOUR);
    await the.run();
    expect(the.pushed()).toEqual(ahead);
    expect(the.rig.log()).toContain('clock-off');
  });

  it('is adopted with its roots; a root alone is not, and nothing is pushed that is not good under it', async () => {
    const { root } = the.rig.publisher;
    const snapshotKey = await newKey();
    const roots = [await encodeRoot({ ...root.signers, snapshot: snapshotKey }, 2, [root.signers.root])];
    const before = the.pushed();
    const timestampKey = await newKey();
    const other = await encodeRoot({ ...root.signers, timestamp: timestampKey }, 2, [root.signers.root]);
    putFile(the.site, '2.root.json', other);
    expect(await the.run()).toBe(true);
    expect(the.pushed()).toEqual(before);
    expect(the.rig.log()).toContain('target-behind');
    const snapshot = the.snapshot(8, { signer: snapshotKey });
    the.upload(the.site, 8, snapshot, roots);
    putFile(the.site, 'timestamp.json', await the.timestamp(8, snapshot));
    expect(await the.run()).toBe(true);
    expect((await the.read(await the.served())).snapshot.version).toBe(8);
    expect(await the.served('2.root.json')).toEqual(roots[0]);
  });

  it('an old database that was put back adopts it before it confirms anything', async () => {
    const { config } = the.rig;
    const copy = temporaryFolder();
    await the.rig.server.state.database.run('PRAGMA wal_checkpoint(TRUNCATE)');
    cpSync(join(the.rig.folder, 'keyserver.db'), join(copy, 'keyserver.db'));
    await the.publish(8, { closed: true });
    const old = { ...config, data: join(copy, 'keyserver.db') };
    const restarted = await startKeyServer(old, { log: pino({ level: 'silent' }), now: () => the.now() });
    await restarted.keeper.idle();
    const bytes = await fetch(`${restarted.url}/.well-known/wispr/timestamp.json`).then((answer) => answer.bytes());
    expect((await the.read(bytes)).snapshot.version).toBe(8);
    expect((await overview(restarted.state)).publication?.withdrawn).toBe(true);
    await restarted.close();
  });
});

describe('one target that hangs', () => {
  const server = forEachTest(startWaywardServer);
  let keeper: TimestampKeeper;
  let site: string;
  let lines: string[];

  beforeEach(async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_S3', server.origin);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'tests');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'of-no-value');
    the = await PublicationRig.start({ publication: { resignMinutes: 60, freshHours: 48, push: [] } });
    site = temporaryFolder();
    lines = [];
    await publish(7);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await keeper.stop();
  });

  /** A keeper with two targets, of which the first is the bucket. */
  async function keep(limits: KeeperLimits): Promise<void> {
    const targets = [await PushTarget.open('s3://bucket'), await PushTarget.open(site)];
    const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
    const { state } = the.rig.server;
    keeper = new TimestampKeeper({ state, log, targets, resignMinutes: 60, freshHours: 48, limits });
  }

  async function publish(version: number): Promise<void> {
    const snapshot = the.snapshot(version);
    the.upload(site, version, snapshot);
    await the.handOver(snapshot);
  }

  it.each([
    ['says nothing', silent],
    ['answers byte by byte', dripping],
  ] as const)('attack 65: delays no other, and is reported: it %s', async (_, answer) => {
    server.answer = answer;
    await keep({ patience: 1000, farewell: 10 });
    the.rig.passTime(HOUR);
    expect(await keeper.attempt()).toBe(true);
    await keeper.idle();
    expect(timestampAt(site)).toEqual(await the.served());
    expect(server.asked.some((request) => request.startsWith('PUT'))).toBe(false);
    expect(lines.join('')).toMatch(/"level":50.*"target":1,"reason":"it did not answer in time"/);
    const [bucket, directory] = (await pushes()) ?? [];
    expect([bucket, directory]).toMatchObject([{ succeeded: expect.any(Number), failed: null }, { succeeded: null }]);
  });

  it('keeps no withdrawal from another target, and not the server from stopping', async () => {
    await keep({ patience: HOUR * 1000, farewell: 10 });
    const run = keeper.attempt();
    await vi.waitUntil(() => server.asked.length > 0);
    const message = { snapshot: the.snapshot(8, { closed: true }), roots: [], expiries: [] };
    await keeper.accept(encodeHandOver(message, the.rig.publisher.root.signers.snapshot.secretKey));
    await vi.waitUntil(() => existsSync(join(site, '.well-known/wispr/timestamp.json')));
    expect(await publicationAt(site)).toBe(8);
    await keeper.stop();
    await run;
    expect(lines.join('')).not.toContain('"target":1'); // given up is not failed
  });

  it('as a directory, is not called again before it has answered', async () => {
    let calls = 0;
    vi.spyOn(DirectoryTarget.prototype, 'head').mockImplementation(() => {
      calls++;
      return new Promise(() => undefined);
    });
    await keep({ patience: 20, farewell: 10 });
    for (let runs = 0; runs < 4; runs++) expect(await keeper.attempt()).toBe(true);
    await keeper.idle();
    expect(calls).toBe(1);
    expect(lines.join('')).toContain('"target":2,"reason":"target-failed');
  });

  it('that says too late that it has the publication gets nothing for that', async () => {
    const statusAtHost = ({ url = '' }: IncomingMessage) => (/timestamp|2\.root/.test(url) ? 404 : 200);
    server.answer = (request, response) => {
      const isLate = /snapshot/.test(request.url ?? '');
      setTimeout(() => response.writeHead(statusAtHost(request)).end(), isLate ? 400 : 0);
    };
    await keep({ patience: 200, farewell: 10 });
    await keeper.attempt();
    await keeper.idle();
    expect(server.asked.some((request) => request.startsWith('PUT'))).toBe(false);
  });

  it('a database that cannot be read for a moment ends neither the process nor what comes after', async () => {
    await keep({ patience: 1000, farewell: 10 });
    const { database } = the.rig.server.state;
    for (const method of ['first', 'all', 'run', 'transaction'] as const)
      vi.spyOn(database, method).mockRejectedValue(new Error('disk I/O error'));
    expect(await keeper.attempt()).toBe(false);
    await keeper.idle();
    vi.restoreAllMocks();
    expect(lines.join('')).toContain('the timestamp could not be pushed');
    await publish(8);
    await keeper.attempt();
    await keeper.idle();
    expect(await publicationAt(site)).toBe(8);
  });
});

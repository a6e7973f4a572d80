/** A target that does not answer, or not to an end, holds up neither signing, nor other targets, nor the end of the key server. */
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { encodeHandOver } from '../../core/publication/hand-over-1.ts';
import { overview } from '../../keyserver/overview.ts';
import { type KeeperLimits, TimestampKeeper } from '../../keyserver/timestamp/keeper.ts';
import { PushTarget } from '../../keyserver/timestamp/push-target.ts';
import { Pusher } from '../../keyserver/timestamp/pusher.ts';
import { DirectoryTarget } from '../../node-support/storage/directory.ts';
import { temporaryFolder } from '../support/keyserver-rig.ts';
import { HOUR, PublicationRig, TIMESTAMP_PATH } from '../support/publication-rig.ts';
import { dripping, silent, startWaywardServer, type WaywardServer } from '../support/wayward-server.ts';

const LONG = 3_600_000;
let the: PublicationRig;
let server: WaywardServer;
let keeper: TimestampKeeper;
/** What another web host serves. */
let site: string;
let lines: string[];

beforeEach(async () => {
  server = await startWaywardServer();
  vi.stubEnv('AWS_ENDPOINT_URL_S3', server.origin);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'tests');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'of-no-value');
  the = await PublicationRig.start({ publication: { resignMinutes: 60, freshHours: 48, push: [] } });
  site = temporaryFolder();
  the.hosts = [site];
  lines = [];
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  await keeper?.stop();
  await the.close();
  await server.close();
});

const log = () => pino({ base: null }, { write: (line: string) => void lines.push(line) });

/** A keeper with two targets, of which the first is the bucket. */
async function keep(limits: KeeperLimits): Promise<void> {
  const targets = [await PushTarget.open('s3://bucket'), await PushTarget.open(site)];
  const { state } = the.rig.server;
  keeper = new TimestampKeeper({ state, log: log(), targets, resignMinutes: 60, freshHours: 48, limits });
}

const pushed = () => new Uint8Array(readFileSync(join(site, TIMESTAMP_PATH)));
const pushTo = (name: string) =>
  overview(the.rig.server.state).publication?.pushes.find(({ target }) => target === name);
/** A bucket with a publication, and no timestamp. */
const statusAtHost = ({ url = '' }: IncomingMessage) => (/timestamp|root/.test(url) ? 404 : 200);
/** Of a publication that was signed ten seconds later. */
const news = async (publication: number, withdrawn: readonly number[] = []) => {
  await the.bring(publication);
  the.rig.passTime(10);
  const timestamp = the.timestamp({ publication, withdrawn, signed: the.now() });
  return encodeHandOver({ timestamp, roots: [], expiries: [] });
};

describe.each([
  ['says nothing', silent],
  ['answers byte by byte', dripping],
] as const)('attack 65: a target that %s', (_, answer) => {
  beforeEach(() => {
    server.answer = answer;
  });

  it('keeps nobody from signing, nor another target from having it', async () => {
    await the.publish({ publication: 7 });
    await keep({ patience: 2000, farewell: 10 });
    the.rig.passTime(HOUR);
    const before = the.read(await the.served());
    expect(await keeper.attempt()).toBe('signed');
    expect(the.read(await the.served()).version).toBeGreaterThan(before.version);
    expect(pushed()).toEqual(await the.served());
    expect(server.asked.some((request) => request.startsWith('PUT'))).toBe(false);
    expect(lines.join('')).toMatch(/"level":50.*"target":1,"reason":"it did not answer in time"/);
    expect(pushTo('s3://bucket')).toMatchObject({ succeeded: null, failed: expect.any(Number) });
    expect(pushTo(site)).toMatchObject({ succeeded: expect.any(Number), failed: null });
  });

  it('keeps no withdrawal from another target, not even while a run waits for it, and not the end', async () => {
    await the.publish({ publication: 7 });
    await keep({ patience: LONG, farewell: 10 });
    const run = keeper.attempt();
    await vi.waitUntil(() => server.asked.length > 0);
    await keeper.accept(await news(7, [7]));
    await vi.waitUntil(() => existsSync(join(site, TIMESTAMP_PATH)));
    expect(the.read(pushed()).withdrawn).toEqual([7]);
    await keeper.stop();
    await run;
    expect(lines.join('')).not.toContain('target-unreachable'); // given up is not failed
    expect(pushTo('s3://bucket')).toBeUndefined();
  });
});

it('a directory that hangs is asked no more while it has not answered', async () => {
  let asked = 0;
  vi.spyOn(DirectoryTarget.prototype, 'head').mockImplementation(() => {
    asked++;
    return new Promise(() => undefined);
  });
  await the.publish({ publication: 7 });
  await keep({ patience: 20, farewell: 10 });
  for (let runs = 0; runs < 6; runs++) {
    the.rig.passTime(HOUR);
    expect(await keeper.attempt()).toBe('signed');
  }
  expect(asked).toBeLessThanOrEqual(2);
  expect(lines.join('')).toContain('"target":2,"reason":"target-failed: it has not answered yet');
});

it('a database that cannot be read for a moment ends neither the process nor what comes after', async () => {
  await the.publish({ publication: 7 });
  await keep({ patience: LONG, farewell: 10 });
  const { database } = the.rig.server.state;
  const prepare = database.prepare.bind(database);
  const failing = vi.spyOn(database, 'prepare');
  server.answer = (_, response) => response.writeHead(404).end();
  vi.spyOn(PushTarget.prototype, 'read').mockImplementation(async () => {
    failing.mockImplementation((sql) => {
      if (/publication|roots/.test(sql)) throw new Error('disk I/O error');
      return prepare(sql);
    });
    return { bytes: undefined, tag: null };
  });
  await keeper.accept(await news(8));
  await keeper.idle();
  expect(lines.join('')).toContain('"msg":"the timestamp could not be pushed"');
  vi.restoreAllMocks();
  await keeper.accept(await news(9));
  await keeper.idle();
  expect(the.read(pushed()).snapshot.version).toBe(9);
});

describe('a target', () => {
  it('is visited once for all that was handed over while it was slow', async () => {
    await the.publish({ publication: 7 });
    await keep({ patience: 2000, farewell: 10 });
    await keeper.accept(await news(8));
    await vi.waitUntil(() => server.asked.length === 1);
    for (let publication = 9; publication < 19; publication++) await keeper.accept(await news(publication));
    await keeper.idle();
    expect(server.asked).toHaveLength(2);
    expect(the.read(pushed()).snapshot.version).toBe(18);
  });

  it('has what came during a run, where the run has seen what lay there before', async () => {
    await the.publish({ publication: 7 });
    const target = await PushTarget.open(site);
    const pusher = new Pusher({
      state: the.rig.server.state,
      log: log(),
      target,
      number: 1,
      onLearned: () => undefined,
      patience: LONG,
    });
    const look = await pusher.look();
    pusher.bring();
    await pusher.last;
    the.rig.passTime(10);
    await the.publish({ publication: 8 });
    if (look) pusher.replace(look);
    await pusher.last;
    expect(lines).toEqual([]);
    expect(the.read(pushed()).snapshot.version).toBe(8);
    pusher.close();
  });

  it('that takes a timestamp and never says so is given up as well', async () => {
    await the.publish({ publication: 7 });
    server.answer = (request, response) => {
      request.resume();
      if (request.method === 'HEAD') response.writeHead(statusAtHost(request)).end();
    };
    await keep({ patience: 2000, farewell: 10 });
    the.rig.passTime(HOUR);
    expect(await keeper.attempt()).toBe('signed');
    expect(lines.join('')).toMatch(/"target":1,"reason":"it did not answer in time","msg":"the timestamp could not be/);
    expect(pushTo('s3://bucket')).toMatchObject({ succeeded: null, failed: expect.any(Number) });
  });

  it('that says too late that it has the publication gets nothing for that', async () => {
    await the.publish({ publication: 7 });
    const held = Promise.withResolvers<ServerResponse>();
    server.answer = (request, response) => {
      request.resume();
      if (request.method === 'HEAD' && statusAtHost(request) === 200) return held.resolve(response);
      response.writeHead(request.method === 'HEAD' ? 404 : 200).end();
    };
    await keep({ patience: 2000, farewell: 10 });
    the.rig.passTime(HOUR);
    expect(await keeper.attempt()).toBe('signed');
    expect(lines.join('')).toMatch(/"target":1,"reason":"it did not answer in time","msg":"the timestamp could not be/);
    (await held.promise).end();
    server.answer = (request, response) => {
      request.resume();
      response.writeHead(request.method === 'HEAD' ? statusAtHost(request) : 200).end();
    };
    the.rig.passTime(HOUR);
    expect(await keeper.attempt()).toBe('signed');
    expect(pushTo('s3://bucket')).toMatchObject({ succeeded: expect.any(Number), failed: expect.any(Number) });
    expect(server.asked.filter((request) => request.startsWith('PUT'))).toHaveLength(1);
  });

  it('has what is being pushed when the key server stops', async () => {
    await the.publish({ publication: 7 });
    const answered = Promise.withResolvers<void>();
    server.answer = (request, response) => {
      request.resume();
      if (request.method !== 'PUT') return void response.writeHead(statusAtHost(request)).end();
      answered.promise.then(() => response.end());
    };
    await keep({ patience: LONG, farewell: LONG });
    await keeper.accept(await news(8));
    await vi.waitUntil(() => server.asked.some((request) => request.startsWith('PUT')));
    const stopped = keeper.stop();
    answered.resolve();
    await stopped;
    expect(pushTo('s3://bucket')).toMatchObject({ succeeded: expect.any(Number), failed: null });
  });
});

/**
 * A newspaper's day, by the commands of its people: it publishes and takes its subscribers in; then each program is killed, each disk is full, and each
 * clock wrong for a while, and two machines are lost. WISPR_DAY is another number of documents and of subscribers; with it, costs are printed.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseInvitationLink } from '../../../client-proxy/connect/link.ts';
import { askForKeys, type BoundDevice, bind, createDeviceKeys } from '../../support/device.ts';
import { refusalCode } from '../../support/http-client.ts';
import { Office, PASSPHRASE, PUBLISH } from '../../support/newspaper-office.ts';
import type { Ended } from '../../support/programs.ts';

const WHOLE = process.env.WISPR_DAY;
const DOCUMENTS = Number(WHOLE ?? 5_000);
const SUBSCRIBERS = Number(WHOLE ?? 20_000);
/** Patience with a machine under load. */
const PATIENCE = { timeout: 150_000, interval: 1000 };
const BINDINGS = Math.min(600, SUBSCRIBERS / 2);
const HOUR = 3600;
/** Numbers of documents. */
const [FIRST, CHANGED, LAST] = [1, 2, DOCUMENTS - 1];

const office = new Office();
/** Links of subscribers who have not come yet. */
let links: string[];
/** Devices that the key server has told that they are connected. */
const devices: BoundDevice[] = [];

/** Writes a list of so many subscribers. */
function writeList(file: string, count: number): void {
  const lines = Array.from({ length: count }, (_, index) => `reader-${index}@example.org,daily\n`);
  writeFileSync(office.place(`keys/${file}`), `name,plan\n${lines.join('')}`);
}

async function importList(file: string, options = '', keys = 'keys'): Promise<{ created: number; unchanged: number }> {
  return JSON.parse((await office.demand(keys, `admin import ${file} --json${options}`)).stdout);
}

/** Starts a program and kills it after a part of the time that it takes. */
async function killAt(part: number, usual: number, start: () => ReturnType<Office['start']>): Promise<void> {
  const program = start();
  await Promise.race([wait(part * usual), program.ended]);
  await program.stop('SIGKILL');
}

async function millisecondsOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** The Reader was connected before anything went wrong. */
async function stillReads(): Promise<void> {
  for (const number of [FIRST, CHANGED, LAST]) expect(await office.read(number)).toMatchObject({ status: 200 });
}

async function reads(text: string): Promise<void> {
  await expect.poll(async () => (await office.read(CHANGED)).text.slice(0, 100)).toContain(`<p>${text}</p>`);
  await stillReads();
}

async function publishes(text: string): Promise<void> {
  office.write(CHANGED, text);
  await office.publish();
  await reads(text);
}

/** A device of a subscriber who has not come yet. It tries again where nothing was answered. */
async function connect(): Promise<void> {
  const { code = '', publisher = '' } = parseInvitationLink(links.pop() ?? '');
  const provider = { keyServer: office.keys, publisher };
  const keys = await createDeviceKeys(provider);
  for (;;)
    try {
      devices.push(await bind(provider, code, keys));
      return;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      await wait(100);
    }
}

/** Expects each device that was told so to be connected. */
async function allAreConnected(keys: string): Promise<void> {
  const { sets } = JSON.parse((await office.demand(keys, 'admin list --json')).stdout);
  expect(devices.length).toBeGreaterThanOrEqual(BINDINGS);
  for (const device of devices) {
    const { keys, refused } = await askForKeys(device, [sets[0].id]);
    expect([keys.length, refused]).toEqual([1, []]);
  }
}

const failsBy = (code: string): Partial<Ended> => ({ code: 1, stderr: expect.stringContaining(`[${code}]`) });

describe('a day', { timeout: WHOLE === undefined ? 240_000 : 3_600_000 }, () => {
  beforeAll(() => office.open(DOCUMENTS, SUBSCRIBERS), 600_000);
  afterAll(async () => {
    if (WHOLE !== undefined) process.stdout.write(office.costs());
    await office.close();
  });

  it('begins: the site is published, the list imported, and a reader reads', async () => {
    await office.publish();
    await office.demand('keys', 'admin plan daily --sets day-*');
    writeList('list.csv', SUBSCRIBERS);
    expect(await importList('list.csv', ' --links links.csv')).toMatchObject({ created: SUBSCRIBERS });
    const written = readFileSync(office.place('keys/links.csv'), 'utf8');
    links = written.match(/http:[^,"\s]+#[\w.-]+/g) ?? [];
    await office.bind(links.pop() ?? '');
    await office.startReader();
    await reads('Nothing new.');
    cpSync(office.place('news'), office.place('desk'), { recursive: true });
    await publishes('a correction');
  });

  it('publishing is killed: readers have the publication before', async () => {
    const usual = await millisecondsOf(() => publishes('published before the kill'));
    office.write(CHANGED, 'published after the kill');
    await killAt(0.6, usual, () => office.start('news', PUBLISH));
    await stillReads();
  });

  it('a list is imported whole or not at all, though that is killed, and again without a change', async () => {
    const more = SUBSCRIBERS / 10;
    writeList('longer.csv', SUBSCRIBERS + more);
    const usual = await millisecondsOf(() => importList('longer.csv', ' --dry-run'));
    for (const part of [0.3, 0.6, 0.9]) {
      await killAt(part, usual, () => office.start('keys', 'admin import longer.csv'));
      expect([0, more]).toContain((await importList('longer.csv', ' --dry-run')).created);
    }
    await importList('longer.csv');
    expect(await importList('list.csv')).toMatchObject({ created: 0, unchanged: SUBSCRIBERS });
  });

  it('the key server is killed while readers connect: whoever was told so is connected', async () => {
    const binders = Array.from({ length: 8 }, async (_, index) => {
      for (let number = index; number < BINDINGS; number += 8) await connect();
    });
    for (const part of [0.25, 0.5, 0.75]) {
      await expect.poll(() => devices.length, PATIENCE).toBeGreaterThan(part * BINDINGS);
      await office.restartKeyServer('SIGKILL');
    }
    await Promise.all(binders);
    await allAreConnected('keys');
  });

  it('the Reader is killed while it reads, and reads on', async () => {
    const reading = Promise.allSettled(Array.from({ length: 50 }, (_, index) => office.read(index)));
    await office.read(LAST);
    await office.startReader('SIGKILL');
    await reading;
    await stillReads();
  });

  it('the disk of the database is full: health tells, readers read, and it goes on when there is room', async () => {
    const [before, link = ''] = [devices.length, links.at(-1)];
    await office.restartKeyServer('SIGTERM'); // SQLite's log has no room left over then
    office.disks.database.fill();
    await expect.poll(() => office.health('/healthz')).toBe('503 {"problems":["disk-full"]}');
    await expect(connect()).rejects.toThrow('binding: 503');
    await stillReads();
    office.disks.database.makeRoom();
    await expect.poll(() => office.health('/healthz')).toBe('200 {"problems":[]}');
    links.push(link);
    await connect();
    expect(devices).toHaveLength(before + 1);
  });

  it('the clock of the Reader is wrong: it shows nothing, until it is right', async () => {
    const codes: unknown[] = [];
    for (const ahead of [-48 * HOUR, 60 * 24 * HOUR]) {
      await office.startReader('SIGTERM', ahead);
      codes.push(refusalCode(await office.read(CHANGED)));
    }
    expect(codes).toEqual(['clock-off', 'publication-expired']);
    await office.startReader();
    await stillReads();
  });

  it('publishing that was killed is done by the same command', async () => {
    expect(await office.run('news', PUBLISH)).toMatchObject({ code: 0 });
    await reads('published after the kill');
  });

  it.each(['web', 'out'] as const)(
    'the disk of "%s" is full: publishing says so, and readers have the publication before',
    async (disk) => {
      await publishes(`room in ${disk}`);
      office.write(CHANGED, `room in ${disk} again`);
      office.disks[disk].fill();
      expect(await office.run('news', PUBLISH)).toMatchObject(failsBy('disk-full'));
      await reads(`room in ${disk}`);
      office.disks[disk].makeRoom();
      await office.publish();
      await reads(`room in ${disk} again`);
    },
  );

  it('another copy of the workspace, from the morning, is refused', async () => {
    expect(await office.run('desk', PUBLISH)).toMatchObject(failsBy('workspace-behind'));
    await reads('room in out again');
  });

  it('a key server whose clock is ahead signs a timestamp: told by health and publishing, and ended by one command', async () => {
    await office.restartKeyServer('SIGTERM', 'keys', 48 * HOUR);
    await stillReads();
    await office.restartKeyServer('SIGTERM');
    await expect.poll(() => office.health('/readyz')).toContain('"clock"');
    office.write(CHANGED, 'the clock was ahead');
    expect(await office.run('news', PUBLISH)).toMatchObject(failsBy('clock-off'));
    await office.demand('news', `keys rotate timestamp --publish ${PASSPHRASE}`);
    await reads('the clock was ahead');
    expect(await office.health('/readyz')).toBe('200 {"problems":[]}');
  });

  it('the clock of the key server is behind: publishing is refused, until it is right', async () => {
    await office.restartKeyServer('SIGTERM', 'keys', -48 * HOUR);
    office.write(CHANGED, 'all clocks are right');
    expect(await office.run('news', PUBLISH)).toMatchObject(failsBy('clock-off'));
    await office.restartKeyServer('SIGTERM');
    await office.publish();
    await reads('all clocks are right');
  });

  it('a publisher whose clock is wrong publishes as ever: the key server signs the time', async () => {
    for (const ahead of [-48 * HOUR, 48 * HOUR]) {
      office.write(CHANGED, `ahead by ${ahead}`);
      expect(await office.run('news', PUBLISH, ahead)).toMatchObject({ code: 0 });
      await reads(`ahead by ${ahead}`);
    }
  });

  it('the machine of the key server is lost: the backup brings back all who were connected', async () => {
    await office.demand('keys', 'admin backup ../backup.db');
    await office.keyServer?.stop('SIGKILL');
    mkdirSync(office.place('new/database'), { recursive: true });
    mkdirSync(office.place('new/keys'));
    for (const file of ['keyserver.json', 'master.key', 'list.csv'])
      cpSync(office.place(`keys/${file}`), office.place(`new/keys/${file}`));
    await office.demand('new/keys', 'admin restore ../../backup.db');
    await office.startKeyServer('new/keys');
    await allAreConnected('new/keys');
    await publishes('from a backup');
  });

  it('the machine of the publisher is lost: its keys and the site suffice', async () => {
    rmSync(office.place('out/protected'), { recursive: true });
    mkdirSync(office.place('news2'));
    for (const file of ['wispr.json', 'publisher.keys', 'keyserver.pub', 'token', 'passphrase'])
      cpSync(office.place(`news/${file}`), office.place(`news2/${file}`));
    office.write(CHANGED, 'from a new machine');
    await office.demand('news2', PUBLISH);
    await reads('from a new machine');
  });

  it('ends: the site is whole, and nobody is lost', async () => {
    expect(await office.demand('news2', 'verify ../web/site --quiet')).toMatchObject({ stdout: '' });
    expect(await importList('list.csv', '', 'new/keys')).toMatchObject({ created: 0, unchanged: SUBSCRIBERS });
    await office.demand('new/keys', 'admin audit --verify');
    for (let number = 0; number < DOCUMENTS; number += Math.ceil(DOCUMENTS / 50))
      expect(await office.read(number)).toMatchObject({ status: 200 });
  });
});

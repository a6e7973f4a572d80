/** attack 67: a Reader whose database is on a small file system that is full, with the system's own answers. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { refusalCode, send } from '../support/http-client.ts';
import { isInTheOneVoice, type ReaderHome, startReaderHome } from '../support/reader-home.ts';
import { CleanUp } from '../support/reader-rig.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';

const cleanUp = new CleanUp();
let reader: ReaderHome;
let disk: SmallDisk;
beforeAll(async () => {
  reader = await startReaderHome(cleanUp);
  disk = mountSmallDisk(join(reader.home, 'data'));
  cleanUp.add(async () => disk.unmount());
  await publish('signed');
});
afterAll(() => cleanUp.run());

const publish = (content: string) => reader.publisher.publish(reader.host.files, '/a.html', { content });
/** Reads by a reload, which looks for a newer publication. */
const read = ({ port }: URL) =>
  send(Number(port), 'http://news.example/a.html', { headers: { 'cache-control': 'no-cache' } });

it('connects nothing, and the invitation stays good', async () => {
  disk.fill();
  const link = await reader.keyServer.invite();
  const bind = () => reader.run(['bind', link, '--yes', '--trust-site', reader.publisher.site, ...reader.connectTo]);
  const refused = await bind();
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('[disk-full]')]);
  expect(isInTheOneVoice(refused.stderr)).toBe(true);
  disk.makeRoom();
  expect((await bind()).code).toBe(0);
});

it('shows nothing that cannot be kept, loses nothing when it is killed, says so, and goes on when there is room', async () => {
  expect((await reader.bind()).code).toBe(0);
  const first = await reader.startProxy();
  const at = new URL(first.ready.proxy);
  expect((await read(at)).text).toBe('signed');
  disk.fill();
  await publish(`newer ${'x'.repeat(100_000)}`);
  await expect.poll(async () => refusalCode(await read(at))).toBe('disk-full');
  const refused = await read(at);
  expect([refused.status, refused.text]).toEqual([507, expect.stringContaining('Make room, and try again')]);
  const forgetting = await reader.run(['identity', 'forget', 'news.example', '--yes']);
  expect([forgetting.code, forgetting.stderr]).toEqual([1, expect.stringMatching(/reader\.db: .*\[disk-full\]$/m)]);
  expect((await reader.run(['proxy', 'status'])).code).toBe(0);
  const words = ['--words-file', join(reader.home, 'words')];
  const exported = await reader.run(['identity', 'export', join(reader.home, 'data/identity'), ...words]);
  expect(exported.stderr).toMatch(/^wispr: the disk is full: cannot write .*\[disk-full\]$/m);
  disk.makeRoom();
  await expect.poll(async () => (await read(at)).text).toContain('newer ');
  disk.fill();
  await publish(`newest ${'x'.repeat(100_000)}`);
  await expect.poll(async () => refusalCode(await read(at))).toBe('disk-full');
  await first.stop('SIGKILL');
  const fetched = await reader.run(['fetch', 'http://news.example/a.html', ...reader.connectTo]);
  expect([fetched.code, fetched.stdout, fetched.stderr]).toEqual([1, '', expect.stringContaining('[disk-full]')]);
  expect(isInTheOneVoice(fetched.stderr)).toBe(true);
  disk.makeRoom();
  const after = await reader.run(['fetch', 'http://news.example/a.html', ...reader.connectTo]);
  expect(after.stdout).toContain('newest ');
});

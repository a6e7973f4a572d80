/** attack 67: a Reader whose database cannot be written. What cannot be kept does not count as verified, and nothing is lost. With the system's own answers: full-file-system.test.ts. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowInSeconds } from '../../node-support/clock.ts';
import { forEachTest } from '../support/for-file.ts';
import { type FullDisk, fillDisk } from '../support/full-disk.ts';
import { refusalCode, send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { startHostileReaderRig } from '../support/reader-rig.ts';

const rig = forEachTest(startHostileReaderRig);
let disk: FullDisk | undefined;
beforeEach(() => rig.publisher.publish(rig.host.files, '/a.html', { content: 'signed' }));
afterEach(async () => disk?.makeRoom());

const get = (path = '/a.html') => send(rig.proxy.port, rig.url(path));
const look = () => rig.proxy.check().catch(() => undefined);
function fill(refuse?: () => Error): void {
  disk = fillDisk(rig.storage.dataDirectory, refuse);
  rig.publisher.afterPublishing = async () => void (await look());
}

/** @returns what the host had before, to be shown again */
async function withdraw(): Promise<Map<string, Uint8Array>> {
  const before = new Map(rig.host.files);
  const { publication } = rig.publisher;
  const version = publication.timestampVersion + 1;
  await publication.close(version, { expires: nowInSeconds() + 86_400, version });
  for (const [path, bytes] of publication.files) rig.host.files.set(path, bytes);
  await look();
  return before;
}

describe('attack 67: while the disk is full', () => {
  it('attack 28: a withdrawn publication is not shown, and with room again nothing brings it back', async () => {
    expect((await get()).text).toBe('signed');
    fill();
    const before = await withdraw();
    expect(refusalCode(await get())).toBe('disk-full');
    disk?.makeRoom();
    expect(refusalCode(await get())).toBe('publication-withdrawn');
    for (const [path, bytes] of before) rig.host.files.set(path, bytes);
    await rig.restart();
    expect(refusalCode(await get())).toBe('publication-withdrawn');
  });

  it('a key that cannot be kept opens nothing, and is fetched again when there is room', async () => {
    const set = await createSetKey();
    rig.keyServer.grant(set);
    await rig.publisher.publish(rig.host.files, '/new.html', { content: 'for subscribers', set });
    fill();
    expect(refusalCode(await get('/new.html'))).toBe('disk-full');
    disk?.makeRoom();
    const read = await get('/new.html');
    expect([refusalCode(read), read.text]).toEqual([undefined, 'for subscribers']);
  });
});

it('a database that cannot be written for another reason is said to be that', async () => {
  expect((await get()).text).toBe('signed');
  fill(() =>
    Object.assign(new Error('attempt to write a readonly database'), { code: 'ERR_SQLITE_ERROR', errcode: 8 }),
  );
  await rig.publisher.publish(rig.host.files, '/a.html', { content: 'newer' });
  expect(refusalCode(await get())).toBe('store-unwritable');
});

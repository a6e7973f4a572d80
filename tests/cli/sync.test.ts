/** `wispr sync` as a person types it before the train leaves. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nowInSeconds } from '../../node-support/clock.ts';
import { send } from '../support/http-client.ts';
import { createSetKey } from '../support/publisher-with-sets.ts';
import { isInTheOneVoice, type ReaderHome, startReaderHome } from '../support/reader-home.ts';
import { CleanUp } from '../support/reader-rig.ts';

const cleanUp = new CleanUp();
let reader: ReaderHome;
beforeEach(async () => {
  reader = await startReaderHome(cleanUp);
  const { publisher, host } = reader;
  await publisher.publish(host.files, '/2026/a.html', { content: 'a' });
  await publisher.publish(host.files, '/2026/b.html', { content: 'b' });
  await publisher.publish(host.files, '/older.html', { content: 'older' });
  await publisher.publishSigned(host.files, '/public.html', { content: 'for everybody' });
  expect((await reader.bind()).code).toBe(0);
});
afterEach(() => cleanUp.run());

const sync = (...args: string[]) => reader.run(['sync', ...args, ...reader.connectTo]);
/** The port of a Reader. */
async function startBeside(): Promise<number> {
  const { ready } = await reader.startProxy('--quiet');
  return Number(new URL(ready.proxy).port);
}

const fetched = (path: string, ...args: string[]) => reader.run(['fetch', `http://news.example${path}`, ...args]);

describe('wispr sync', () => {
  it('keeps everything, to be read without a network; doing it again fetches nothing', async () => {
    const first = await sync('news.example', '--json');
    expect(first.code).toBe(0);
    expect(JSON.parse(first.stdout)).toEqual(
      expect.objectContaining({
        site: 'news.example',
        here: expect.objectContaining({ documents: 4 }),
        fetched: expect.objectContaining({ documents: 4 }),
        failed: [],
        refused: [],
      }),
    );
    const again = await sync('http://news.example/');
    expect([again.code, again.stdout, again.stderr]).toEqual([
      0,
      '',
      expect.stringMatching(/4 documents are here, .*; 0 of them new/),
    ]);
    await reader.host.close();
    for (const [path, content] of [
      ['/2026/a.html', 'a'],
      ['/older.html', 'older'],
      ['/public.html', 'for everybody'],
    ] as const)
      expect(await fetched(path, '--connect-to', ':80:127.0.0.1:9')).toEqual({ code: 0, stdout: content, stderr: '' });
  });

  it('is seen by a Reader that runs beside it and has read nothing yet', async () => {
    const port = await startBeside();
    expect((await reader.run(['proxy', 'status'])).stdout).toContain('news.example: not read yet');
    expect((await reader.run(['sync', 'news.example'])).code).toBe(0);
    await reader.host.close();
    await reader.keyServer.close();
    const answer = await send(port, 'http://news.example/2026/a.html');
    expect([answer.status, answer.text]).toEqual([200, 'a']);
  });

  it('brings a Reader that runs beside it a newer publication', async () => {
    const port = await startBeside();
    expect((await send(port, 'http://news.example/2026/a.html')).text).toBe('a');
    await reader.publisher.publish(reader.host.files, '/2026/c.html', { content: 'newer' });
    expect((await reader.run(['sync', 'news.example'])).code).toBe(0);
    await reader.host.close();
    await reader.keyServer.close();
    const answer = await send(port, 'http://news.example/2026/c.html');
    expect([answer.status, answer.text]).toEqual([200, 'newer']);
  });

  it('keeps a part: below a prefix, or one set', async () => {
    const documents = async (...args: string[]) =>
      JSON.parse((await sync('news.example', ...args, '--json')).stdout).here.documents;
    expect(await documents('/2026/')).toBe(2);
    expect(await documents('--set', 'public')).toBe(1);
    expect(await documents('--set', reader.publisher.set.id)).toBe(3);
    const none = await sync('news.example', '/2062/', '--quiet');
    expect(none).toEqual({
      code: 1,
      stdout: '',
      stderr: 'wispr: no document of the publication has a path that begins with /2062/\n',
    });
    const one = await sync('news.example', '/older');
    expect([one.code, one.stderr]).toEqual([0, expect.stringContaining('news.example: 1 document is here, ')]);
  });

  it('says what is not the reader’s to read, which is no failure', async () => {
    const set = await createSetKey();
    await reader.publisher.publish(reader.host.files, '/board.html', { content: 'minutes', set });
    const { code, stderr } = await sync('news.example');
    expect([code, stderr]).toEqual([0, expect.stringContaining(`1 in set ${set.id} [not-entitled]`)]);
  });

  it('does not say that a set it has no key for belongs to other readers: what is wrong, and what to do, also where it is to be quiet', async () => {
    const { publisher, keyServer, host } = reader;
    await publisher.publish(host.files, '/later.html', { content: 'later', set: await createSetKey() });
    await keyServer.close();
    for (const args of [[], ['--quiet']]) {
      const { code, stderr } = await sync('news.example', ...args);
      expect([code, stderr]).toEqual([1, expect.stringContaining('4 documents in 2 sets')]);
      expect([stderr, stderr]).toEqual([
        expect.stringContaining('[key-server-unreachable]'),
        expect.stringContaining('hint: '),
      ]);
      expect(stderr).not.toContain('not yours');
    }
    const { refused, withoutKey, here } = JSON.parse((await sync('news.example', '--json')).stdout);
    expect([refused, withoutKey.length, here.documents]).toEqual([[], 2, 1]);
  });

  it('says that the device was disconnected, and what to do, also where it is to be quiet', async () => {
    await reader.keyServer.revoke();
    for (const args of [[], ['--quiet']]) {
      const { code, stderr } = await sync('news.example', ...args);
      expect([code, stderr]).toEqual([1, expect.stringMatching(/\[revoked\]\nwispr: hint: .*wispr bind/)]);
    }
    const { refused, withoutKey } = JSON.parse((await sync('news.example', '--json')).stdout);
    expect([refused, withoutKey]).toEqual([[expect.objectContaining({ documents: 3, code: 'revoked' })], []]);
  });

  it('says that it could not look for a newer publication, also where it is to be quiet; what is here stays good', async () => {
    expect((await sync('news.example')).code).toBe(0);
    const { version } = reader.publisher.publication;
    await reader.host.close();
    for (const args of [[], ['--quiet']]) {
      const { code, stderr } = await sync('news.example', ...args);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(
          /^wispr: could not look for a newer publication: .+ \[content-host-unreachable\]\nwispr: hint: check the connection/m,
        ),
      ]);
      expect(stderr.includes('4 documents are here')).toBe(args.length === 0);
    }
    const { failedLook, failed, here } = JSON.parse((await sync('news.example', '--json')).stdout);
    expect([failedLook.code, failed, here.documents]).toEqual(['content-host-unreachable', [], 4]);
    const missed = await sync('news.example', '/2062/', '--quiet');
    expect([missed.code, missed.stderr]).toEqual([
      1,
      expect.stringContaining(
        `no document of publication ${version}, the newest that is here, has a path that begins with /2062/`,
      ),
    ]);
  });

  it('says that it could not fetch the newest descriptor, also where it is to be quiet', async () => {
    const { publisher, host, keyServer } = reader;
    const renamed = publisher.descriptor(keyServer.origin, { issued: nowInSeconds() + 1, name: 'Renamed' });
    publisher.setDescriptor(renamed);
    await publisher.publish(host.files, '/2026/c.html', { content: 'c' });
    const path = [...host.files.keys()].filter((path) => path.endsWith('.wispr-provider')).at(-1) ?? '';
    host.handlers.set(path, (_, response) => response.writeHead(503).end());
    for (const args of [[], ['--quiet']]) {
      const { code, stderr } = await sync('news.example', ...args);
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(
          /^wispr: could not fetch the newest descriptor of the publisher: .+ \[content-host-answer\]\nwispr: hint: try again/m,
        ),
      ]);
      expect(stderr).not.toContain('newer publication');
    }
    host.handlers.clear();
    expect((await sync('news.example')).code).toBe(0);
  });

  it('fails without a network', async () => {
    await reader.host.close();
    const { code, stderr } = await sync('news.example');
    expect([code, stderr]).toEqual([1, expect.stringContaining('[content-host-unreachable]')]);
  });

  it('names what could not be had, and exits with 1; the next run gets it', async () => {
    const file = reader.publisher.fileOf('/older.html');
    const object = reader.host.files.get(file) ?? new Uint8Array();
    reader.host.files.set(file, Buffer.concat([object.subarray(0, -1), Buffer.from([(object.at(-1) ?? 0) ^ 1])]));
    const failed = await sync('news.example', '--quiet');
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringMatching(/^wispr: not fetched: \/older\.html: .* \[[a-z-]+\]\nwispr: hint: .*\n$/),
    ]);
    reader.host.files.set(file, object);
    expect((await sync('news.example', '--quiet')).code).toBe(0);
  });

  it('fails in one clear line', async () => {
    const unknown = await sync('elsewhere.example');
    expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining('[not-connected]')]);
    expect(isInTheOneVoice(unknown.stderr)).toBe(true);
    for (const args of [['not a site'], ['news.example', '2026/'], ['news.example', '--set', 'x'], []]) {
      const { code, stderr } = await sync(...args);
      expect([args, code, isInTheOneVoice(stderr)]).toEqual([args, 2, true]);
    }
    const file = join(reader.home, 'a file where the folder should be');
    writeFileSync(file, '');
    const unusable = await reader.run(['sync', 'news.example', ...reader.connectTo], { env: { XDG_CACHE_HOME: file } });
    expect([unusable.code, unusable.stderr]).toEqual([1, expect.stringContaining('[output-failed]')]);
  });
});

/** `wispr fetch` as a script uses it. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startRawHost } from '../support/raw-http.ts';
import {
  fetchInShell,
  isInTheOneVoice,
  publishLarge,
  type ReaderHome,
  startReaderHome,
} from '../support/reader-home.ts';
import { CleanUp } from '../support/reader-rig.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';

const cleanUp = new CleanUp();
let reader: ReaderHome;
beforeEach(async () => {
  reader = await startReaderHome(cleanUp);
  await reader.publisher.publish(reader.host.files, '/a.html', { content: 'read at last' });
  expect((await reader.bind()).code).toBe(0);
});
afterEach(() => cleanUp.run());

const fetched = (...args: string[]) => reader.run(['fetch', ...args, ...reader.connectTo]);

describe('wispr fetch prints the document, and nothing else', () => {
  it('by http, https, the bare name, and the address of the gateway; no proxy runs', async () => {
    const { sites } = JSON.parse((await reader.bind('--json')).stdout) as { sites: { gateway: string }[] };
    const gateway = sites[0]?.gateway ?? '';
    for (const address of [
      'http://news.example/a.html',
      'https://NEWS.example/a.html#here',
      'news.example/a.html',
      `${gateway}a.html`,
    ]) {
      const { code, stdout, stderr } = await fetched(address);
      expect([address, code, stdout, stderr]).toEqual([address, 0, 'read at last', '']);
    }
  });

  it('byte for byte, whole and in ranges', async () => {
    const content = await publishLarge(reader, '/film');
    const file = join(reader.home, 'film');
    for (const [range, expected] of [
      [[], content],
      [['--range', '100000-199999'], content.subarray(100_000, 200_000)],
      [['-r', '299990-'], content.subarray(299_990)],
      [['-r', '-7'], content.subarray(-7)],
    ] as const) {
      const { code, stderr } = await fetched('https://news.example/film', ...range, '--output', file);
      expect([code, stderr]).toEqual([0, expect.stringMatching(/^wispr: wrote .*, verified\n$/)]);
      expect(readFileSync(file).equals(expected)).toBe(true);
    }
  });

  it('ranges of text that travels compressed are those of the text', async () => {
    const content = 'It was a bright cold day in April. '.repeat(400);
    const metadata = { mediaType: 'text/plain', contentCoding: 'gzip' as const };
    await reader.publisher.publish(reader.host.files, '/t.txt', { content: gzipSync(content), metadata });
    expect((await fetched('http://news.example/t.txt')).stdout).toBe(content);
    expect((await fetched('http://news.example/t.txt', '-r', '9-14')).stdout).toBe(content.slice(9, 15));
    const last = await fetched('http://news.example/t.txt', '-r', '-3');
    expect([last.code, last.stdout, last.stderr]).toEqual([1, '', expect.stringContaining('[condition-unmet]')]);
    expect(isInTheOneVoice(last.stderr)).toBe(true);
  });

  it('the head that is printed before a range fits it, also where the document was cut here', async () => {
    const content = 'It was a bright cold day in April. '.repeat(60_000);
    const metadata = { mediaType: 'text/plain', contentCoding: 'gzip' as const };
    const coded = gzipSync(content);
    await reader.publisher.publish(reader.host.files, '/t.txt', { content: coded, metadata });
    const gzip = ['-H', 'Accept-Encoding: gzip'];
    for (const [range, more, body, contentRange] of [
      ['9-14', [], content.slice(9, 15), 'bytes 9-14/*'],
      ['2099990-', [], content.slice(2_099_990), 'bytes 2099990-2099999/*'],
      ['2-3', gzip, coded.toString('utf8', 2, 4), `bytes 2-3/${coded.length}`],
      [
        '-4',
        gzip,
        coded.toString('utf8', coded.length - 4),
        `bytes ${coded.length - 4}-${coded.length - 1}/${coded.length}`,
      ],
      ['10-', [], content.slice(10), undefined], // its end is too far behind to be waited for
    ] as const) {
      const { code, stdout } = await fetched('http://news.example/t.txt', '-i', '-r', range, ...more);
      const [head = '', ...rest] = stdout.split('\r\n\r\n');
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1]?.trim();
      expect([code, head.split('\r\n')[0], rest.join('\r\n\r\n') === body]).toEqual([
        0,
        'HTTP/1.1 206 Partial Content',
        true,
      ]);
      expect([range, field('content-range')]).toEqual([range, contentRange]);
      if (contentRange !== undefined && more.length === 0) expect(field('content-length')).toBe(String(body.length));
      expect(field('transfer-encoding')).toBeUndefined();
    }
  });

  it('all of it, where If-Range names another version: the end of one does not go with the beginning of another', async () => {
    const text = { mediaType: 'text/plain', contentCoding: 'gzip' as const };
    const write = async (content: string) => {
      await reader.publisher.publish(reader.host.files, '/a.html', { content });
      await reader.publisher.publish(reader.host.files, '/t.txt', { content: gzipSync(content), metadata: text });
    };
    await write('the version of before');
    for (const address of ['http://news.example/a.html', 'http://news.example/t.txt']) {
      const etag = /^etag: (.*)$/im.exec((await fetched(address, '--head')).stdout)?.[1]?.trim() ?? '';
      const resumed = (...more: string[]) => fetched(address, '-r', '4-', '-H', `If-Range: ${etag}`, ...more);
      expect(await resumed()).toEqual({ code: 0, stdout: 'version of before', stderr: '' });
      await write('another version');
      const { code, stdout, stderr } = await resumed();
      expect([code, stdout, stderr]).toEqual([0, 'another version', expect.stringContaining('not the range')]);
      expect(isInTheOneVoice(stderr)).toBe(true);
      const withHead = await resumed('-i');
      expect(withHead.stdout).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)+\r\nanother version$/);
      const file = join(reader.home, 'resumed');
      expect(JSON.parse((await resumed('-o', file, '--json')).stdout)).toMatchObject({ status: 200, bytes: 15 });
      await write('the version of before');
    }
  });

  it('after redirects, which the publisher has signed, and nowhere else', async () => {
    const redirects = [
      { from: '/old', status: 301, to: '/a.html?x=1' },
      { from: '/own', status: 302, to: 'https://news.example/old' },
      { from: '/away', status: 307, to: 'https://elsewhere.example/x' },
      { from: '/odd', status: 307, to: 'https://:x@elsewhere.example/x' },
      { from: '/up', status: 307, to: '/down' },
      { from: '/down', status: 307, to: '/up' },
    ] as const;
    reader.publisher.publication.setSettings({ ...TEST_SETTINGS, redirects });
    await reader.publisher.sign(reader.host.files);
    expect((await fetched('http://news.example/own')).stdout).toBe('read at last');
    for (const [path, code] of [
      ['/away', 'not-connected'],
      ['/odd', 'argument-invalid'], // by the publisher, not by who typed
      ['/up', 'loop'],
    ]) {
      const refused = await fetched(`http://news.example${path}`);
      expect([refused.code, refused.stdout, refused.stderr]).toEqual([1, '', expect.stringContaining(`[${code}]`)]);
      expect(isInTheOneVoice(refused.stderr)).toBe(true);
    }
    const { stderr } = await fetched('http://news.example/away');
    for (const address of ['http://news.example/away', 'https://elsewhere.example/x'])
      expect(stderr).toContain(address);
    expect(reader.host.requests.some(({ headers }) => headers.host?.startsWith('elsewhere'))).toBe(false);
  });

  it('with header fields that are sent and shown', async () => {
    const { stdout } = await fetched('http://news.example/a.html', '--include');
    const [head = '', body] = stdout.split('\r\n\r\n');
    expect([head, body]).toEqual([expect.stringMatching(/^HTTP\/1\.1 200 OK\r\n/), 'read at last']);
    const etag = /^etag: (.*)$/im.exec(head)?.[1] ?? '';
    const only = await fetched('http://news.example/a.html', '-I', '--header', `If-None-Match: ${etag}`);
    expect([only.code, only.stdout]).toEqual([0, expect.stringMatching(/^HTTP\/1\.1 304 /)]);
    expect(only.stdout).toMatch(/\r\n\r\n$/);
  });
});

describe('what cannot be had is exit code 1, one clear line, and no output', () => {
  it('a document that does not exist', async () => {
    const { code, stdout, stderr } = await fetched('http://news.example/missing.html');
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('[no-such-document]')]);
    expect(isInTheOneVoice(stderr)).toBe(true);
  });

  it('a site that is not connected, with how to connect', async () => {
    const { code, stdout, stderr } = await fetched('https://elsewhere.example/');
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('[not-connected]')]);
    expect(stderr).toContain('wispr bind');
    expect(isInTheOneVoice(stderr)).toBe(true);
  });

  it('on a machine that is not connected with anything, of which no database is made', async () => {
    const env = { XDG_DATA_HOME: join(reader.home, 'other'), XDG_CONFIG_HOME: join(reader.home, 'other') };
    const { code, stderr } = await reader.run(['fetch', 'http://news.example/a.html'], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('[not-connected]')]);
    expect(existsSync(join(reader.home, 'other'))).toBe(false);
  });

  it('anything, where the parent proxy is not there: that is said, and no host is blamed', async () => {
    const gone = await startRawHost((_head, socket) => socket.destroy());
    await gone.close();
    const parent = ['--parent-proxy', `http://127.0.0.1:${gone.port}`];
    const { code, stdout, stderr } = await fetched('http://news.example/a.html', ...parent);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /the parent proxy could not be reached: .*\[parent-proxy-unreachable\]\n.*hint: .*--parent-proxy/,
    );
    expect(isInTheOneVoice(stderr)).toBe(true);
  });

  it('a range beyond the end', async () => {
    const { code, stdout, stderr } = await fetched('http://news.example/a.html', '-r', '500-');
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('[condition-unmet]')]);
  });

  it('one that the host has replaced, and one whose key is refused: which it was, and what to do', async () => {
    const { publisher, host, keyServer } = reader;
    await publisher.publish(host.files, '/b.html', { content: 'another' });
    host.files.set(publisher.fileOf('/b.html'), host.files.get(publisher.fileOf('/a.html')) ?? new Uint8Array());
    await keyServer.revoke();
    for (const [path, code] of [
      ['/b.html', 'head-unexpected'],
      ['/a.html', 'revoked'],
    ] as const) {
      const refused = await fetched(`http://news.example${path}`);
      expect([refused.code, refused.stdout, refused.stderr]).toEqual([1, '', expect.stringContaining(`[${code}]`)]);
      expect(refused.stderr).toContain(`http://news.example${path}: `);
      expect([isInTheOneVoice(refused.stderr), refused.stderr]).toEqual([
        true,
        expect.stringContaining('wispr: hint: '),
      ]);
    }
  });

  it('one that fails in its middle: what came is visibly incomplete, and a file stays as it was', async () => {
    const content = await publishLarge(reader, '/film');
    const file = reader.publisher.fileOf('/film');
    const object = Buffer.from(reader.host.files.get(file) ?? []);
    object[object.length - 100_000] = (object[object.length - 100_000] ?? 0) ^ 1;
    reader.host.files.set(file, object);
    const { code, stderr } = await fetchInShell(
      reader,
      reader.home,
      'eval "$WISPR" > "$HOME/out"',
      'http://news.example/film',
    );
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/incomplete: .* of http:\/\/news\.example\/film .*\[block-digest\]/),
    ]);
    expect([isInTheOneVoice(stderr), stderr]).toEqual([true, expect.stringContaining('wispr: hint: ')]);
    const out = readFileSync(join(reader.home, 'out'));
    expect(out.length).toBeLessThan(content.length);
    expect(out.equals(content.subarray(0, out.length))).toBe(true);
    const kept = join(reader.home, 'kept');
    writeFileSync(kept, 'as it was');
    const toFile = await fetched('http://news.example/film', '-o', kept);
    expect([toFile.code, toFile.stderr]).toEqual([1, expect.not.stringContaining('incomplete')]);
    expect(toFile.stderr).toContain('http://news.example/film');
    expect(readFileSync(kept, 'utf8')).toBe('as it was');
    expect(readdirSync(reader.home).filter((name) => name.startsWith('kept'))).toEqual(['kept']);
  });
});

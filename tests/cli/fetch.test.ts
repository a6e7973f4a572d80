/** `wispr fetch` as a script uses it. */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { refusalOf } from '../../client-proxy/fetch/fetch-document.ts';
import { startCommand } from '../support/programs.ts';
import { startRawHost } from '../support/raw-host.ts';
import { isInTheOneVoice, type ReaderHome, startReaderHome } from '../support/reader-home.ts';
import { CleanUp } from '../support/reader-rig.ts';
import { TEST_SETTINGS } from '../support/test-publication.ts';
import { runOnTerminal } from '../support/wispr.ts';

const cleanUp = new CleanUp();
let reader: ReaderHome;
beforeEach(async () => {
  reader = await startReaderHome(cleanUp);
  await reader.publisher.publish(reader.host.files, '/a.html', { content: 'read at last' });
  expect((await reader.bind()).code).toBe(0);
});
afterEach(() => cleanUp.run());

const fetched = (...args: string[]) => reader.run(['fetch', ...args, ...reader.connectTo]);

/** A document of several blocks. */
async function publishLarge(path: string, length = 300_000): Promise<Buffer> {
  const content = randomBytes(length);
  const metadata = { mediaType: 'application/octet-stream' };
  await reader.publisher.publish(reader.host.files, path, { content, metadata, blockChunks: 1 });
  return content;
}

/** The command line of a `wispr fetch` for a shell, which does the rest. */
function shell(script: string, ...args: string[]) {
  const command = ['node', `${process.cwd()}/bin/wispr.js`, 'fetch', ...args, ...reader.connectTo];
  const options = reader.atHome({ cwd: reader.home, env: { WISPR: command.map((word) => `'${word}'`).join(' ') } });
  return startCommand(['bash', '-c', script], options).ended;
}

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
    const content = await publishLarge('/film');
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
    expect([last.code, last.stdout, last.stderr]).toEqual([1, '', expect.stringContaining('[range-refused]')]);
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
      ['/away', 'site-unknown'],
      ['/odd', 'address-malformed'], // by the publisher, not by who typed
      ['/up', 'redirect-refused'],
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

describe('a condition among the header fields', () => {
  const ADDRESS = 'http://news.example/a.html';
  const etag = async () => /^etag: (.*)$/im.exec((await fetched(ADDRESS, '--head')).stdout)?.[1]?.trim() ?? '';

  it('by which nothing has changed leaves the file alone, and says so; that is no failure', async () => {
    const kept = join(reader.home, 'kept');
    writeFileSync(kept, 'precious');
    for (const [field, ...more] of [
      ['If-None-Match: *'],
      [`If-None-Match: ${await etag()}`, '--include'],
      ['If-None-Match: *', '--head'],
    ] as const) {
      const { code, stdout, stderr } = await fetched(ADDRESS, '-o', kept, '--header', field, ...more);
      expect([code, stdout, stderr]).toEqual([0, '', expect.stringMatching(/^wispr: not changed: .*kept\n$/)]);
      expect(isInTheOneVoice(stderr)).toBe(true);
    }
    const quiet = await fetched(ADDRESS, '-o', kept, '--header', 'If-None-Match: *', '--quiet');
    expect(quiet).toEqual({ code: 0, stdout: '', stderr: '' });
    const { code, stdout } = await fetched(ADDRESS, '-o', kept, '--header', 'If-None-Match: *', '--json');
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ status: 304, bytes: 0 })]);
    expect(JSON.parse(stdout)).not.toHaveProperty('file');
    expect(readFileSync(kept, 'utf8')).toBe('precious');
    expect(readdirSync(reader.home).filter((name) => name.startsWith('kept'))).toEqual(['kept']);
    const none = await fetched(ADDRESS, '-o', join(reader.home, 'none'), '--header', 'If-None-Match: *');
    expect([none.code, existsSync(join(reader.home, 'none'))]).toEqual([0, false]);
  });

  it('by which nothing has changed leaves standard output empty, and says why', async () => {
    const { code, stdout, stderr } = await fetched(ADDRESS, '--header', 'If-None-Match: *');
    expect([code, stdout, stderr]).toEqual([0, '', `wispr: not changed: ${ADDRESS}\n`]);
  });

  it('is no hindrance where there is another version: it replaces the file', async () => {
    const kept = join(reader.home, 'kept');
    writeFileSync(kept, 'older');
    expect((await fetched(ADDRESS, '-o', kept, '--header', 'If-None-Match: "x"')).code).toBe(0);
    expect(readFileSync(kept, 'utf8')).toBe('read at last');
  });

  it('by which another version is wanted is exit code 1, and leaves the file alone', async () => {
    const kept = join(reader.home, 'kept');
    writeFileSync(kept, 'precious');
    for (const where of [['-o', kept], [], ['--head'], ['--include']]) {
      const { code, stdout, stderr } = await fetched(ADDRESS, '--header', 'If-Match: "x"', ...where);
      expect([where, code, stdout, stderr]).toEqual([where, 1, '', expect.stringContaining('[condition-unmet]')]);
      expect([isInTheOneVoice(stderr), stderr.includes(ADDRESS), stderr.includes('If-Match')]).toEqual([
        true,
        true,
        true,
      ]);
    }
    expect(readFileSync(kept, 'utf8')).toBe('precious');
    expect((await fetched(ADDRESS, '--header', `If-Match: ${await etag()}`)).stdout).toBe('read at last');
  });

  it('is all that there may be no document for: an answer of any other kind is a refusal', () => {
    expect([200, 206, 304].map((status) => refusalOf(status, []))).toEqual([undefined, undefined, undefined]);
    expect([404, 412, 416, 204, 302, 500].map((status) => refusalOf(status, [])?.code)).toEqual([
      'no-such-document',
      'condition-unmet',
      'range-refused',
      'internal',
      'internal',
      'internal',
    ]);
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
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('[site-unknown]')]);
    expect(stderr).toContain('wispr bind');
    expect(isInTheOneVoice(stderr)).toBe(true);
  });

  it('on a machine that is not connected with anything, of which no database is made', async () => {
    const env = { XDG_DATA_HOME: join(reader.home, 'other'), XDG_CONFIG_HOME: join(reader.home, 'other') };
    const { code, stderr } = await reader.run(['fetch', 'http://news.example/a.html'], { env });
    expect([code, stderr]).toEqual([1, expect.stringContaining('[site-unknown]')]);
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
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining('[range-refused]')]);
  });

  it('one that the host has replaced, and one whose key is refused: which it was, and what to do', async () => {
    const { publisher, host, keyServer } = reader;
    await publisher.publish(host.files, '/b.html', { content: 'another' });
    host.files.set(publisher.fileOf('/b.html'), host.files.get(publisher.fileOf('/a.html')) ?? new Uint8Array());
    keyServer.revoke();
    for (const [path, code] of [
      ['/b.html', 'head-unexpected'],
      ['/a.html', 'device-revoked'],
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
    const content = await publishLarge('/film');
    const file = reader.publisher.fileOf('/film');
    const object = Buffer.from(reader.host.files.get(file) ?? []);
    object[object.length - 100_000] = (object[object.length - 100_000] ?? 0) ^ 1;
    reader.host.files.set(file, object);
    const { code, stderr } = await shell('eval "$WISPR" > "$HOME/out"', 'http://news.example/film');
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

describe('what takes the output', () => {
  it('a file gets the permissions that the umask leaves, and JSON says what was written', async () => {
    const { code, stdout } = await shell(
      'umask 027; eval "$WISPR"',
      'http://news.example/a.html',
      '-o',
      'a.html',
      '--json',
    );
    const file = join(reader.home, 'a.html');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      expect.objectContaining({ status: 200, bytes: 12, file: 'a.html' }),
    ]);
    expect(statSync(file).mode & 0o777).toBe(0o640);
  });

  it('all that was written is counted, the head too', async () => {
    const file = join(reader.home, 'head');
    for (const flag of ['--head', '--include']) {
      const { stdout } = await fetched('http://news.example/a.html', '-o', file, flag, '--json');
      expect(JSON.parse(stdout)).toMatchObject({ bytes: statSync(file).size, file });
      const { stderr } = await fetched('http://news.example/a.html', '-o', file, flag);
      expect(stderr).toContain(`${statSync(file).size} bytes`);
    }
  });

  it('a reader of a pipe may leave early', async () => {
    await publishLarge('/film', 3_000_000);
    const { code, stdout, stderr } = await shell(
      'set -o pipefail; eval "$WISPR" | head -c 10 | wc -c',
      'http://news.example/film',
    );
    expect([code, stdout.trim(), stderr]).toEqual([0, '10', '']);
  });

  it('what is no file on a disk is written as it is: devices, pipes, and what a shell has opened', async () => {
    const address = 'http://news.example/a.html';
    for (const [script, file, expected] of [
      ['eval "$WISPR"', '/dev/null', ''],
      ['eval "$WISPR" | cat', '/dev/stdout', 'read at last'],
      ['{ printf "to be "; eval "$WISPR"; } > kept; cat kept', '/dev/stdout', 'to be read at last'],
      ['exec 3> kept; eval "$WISPR"; cat kept', '/dev/fd/3', 'read at last'],
      ['exec 3> kept; eval "$WISPR"; cat kept', '/proc/self/fd/3', 'read at last'],
      ['mkfifo pipe; cat pipe & eval "$WISPR"; wait', 'pipe', 'read at last'],
      [
        `eval "$(printf %s "$WISPR" | sed "s/'SUBSTITUTED'/>(cat > kept)/")"; wait $!; cat kept`,
        'SUBSTITUTED',
        'read at last',
      ],
    ] as const) {
      const { code, stdout, stderr } = await shell(script, address, '-q', '-o', file);
      expect([file, code, stdout, stderr]).toEqual([file, 0, expected, '']);
    }
    expect(existsSync('/dev/stdout')).toBe(true);
    const same = await fetched(address, '-o', '/dev/null', '-H', 'If-None-Match: *');
    expect([same.code, same.stderr]).toEqual([0, expect.stringContaining('not changed')]);
  });

  it('a program that has read enough of a named pipe is no failure', async () => {
    await publishLarge('/film', 3_000_000);
    const script = 'mkfifo pipe; head -c 10 pipe | wc -c & eval "$WISPR"; code=$?; wait; exit $code';
    const { code, stdout, stderr } = await shell(script, 'http://news.example/film', '-q', '-o', 'pipe');
    expect([code, stdout.trim(), stderr]).toEqual([0, '10', '']);
  });

  it('a full device that is named is said, with a way out', async () => {
    const { code, stderr } = await fetched('http://news.example/a.html', '-o', '/dev/full');
    const said = /the disk is full: cannot write \/dev\/full \[disk-full\]\n.*hint: make room/;
    expect([code, stderr]).toEqual([1, expect.stringMatching(said)]);
    expect(stderr).not.toContain('ENOSPC');
  });

  it('a full disk is exit code 1', async () => {
    const { code, stderr } = await shell('eval "$WISPR" > /dev/full', 'http://news.example/a.html');
    expect([code, stderr]).toEqual([1, expect.stringContaining('cannot write to standard output')]);
  });

  it('a terminal is spared what is not text, unless it is asked for', async () => {
    await publishLarge('/film', 1000);
    const env = Object.entries(reader.atHome().env ?? {});
    const before = env.map(([name]) => [name, process.env[name]] as const);
    Object.assign(process.env, Object.fromEntries(env));
    cleanUp.add(async () => {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    });
    const { code, shown } = await runOnTerminal(['fetch', 'http://news.example/film', ...reader.connectTo], [], {
      cwd: reader.home,
    });
    expect([code, shown]).toEqual([2, expect.stringContaining('--output -')]);
    const text = await runOnTerminal(['fetch', 'http://news.example/a.html', ...reader.connectTo], [], {
      cwd: reader.home,
    });
    expect([text.code, text.shown]).toEqual([0, 'read at last']);
    const content = `${'a line of text\n'.repeat(20_000)}\u001b]0;upset\u0007`;
    await reader.publisher.publish(reader.host.files, '/late.txt', { content });
    const late = await runOnTerminal(['fetch', 'http://news.example/late.txt', ...reader.connectTo], [], {
      cwd: reader.home,
    });
    expect([late.code, late.shown]).toEqual([2, expect.stringContaining('only its beginning is shown')]);
    expect(late.shown).not.toContain('\u001b]0;upset');
  });
});

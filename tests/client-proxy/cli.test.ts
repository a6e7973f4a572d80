/** `wispr proxy` and `wispr bind` as a person types them. */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FRUGAL_FLAGS } from '../../cli/start-frugally.ts';
import { SettingsKeeper } from '../../client-proxy/store/settings.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import { makeCertificate } from '../support/certificates.ts';
import { type ContentHost, startContentHost } from '../support/content-host.ts';
import { startDnsServer } from '../support/dns-server.ts';
import { HostileKeyServer } from '../support/hostile-key-server.ts';
import { send } from '../support/http-client.ts';
import { startKeyServerOf, type TestKeyServer } from '../support/key-server.ts';
import type { ProgramOptions } from '../support/programs.ts';
import { CleanUp, temporaryFolder } from '../support/reader-rig.ts';
import { TestPublisher } from '../support/test-publisher.ts';
import { runOnTerminal, runWispr, startWispr } from '../support/wispr.ts';

const cleanUp = new CleanUp();
let home: string;
let publisher: TestPublisher;
let keyServer: TestKeyServer;
let host: ContentHost;
/** Everything around the reader is on this machine. */
let here: string[];
beforeEach(async () => {
  home = await temporaryFolder(cleanUp);
  publisher = await TestPublisher.create();
  keyServer = await startKeyServerOf(publisher);
  cleanUp.add(() => keyServer.close());
  host = await startContentHost();
  cleanUp.add(host.close);
  await publisher.sign(host.files);
  here = ['--connect-to', `:80:127.0.0.1:${host.port}`, '--allow-local', '127.0.0.1'];
});
afterEach(() => cleanUp.run());

/** A person with a home of their own. */
function atHome({ env, ...options }: ProgramOptions = {}): ProgramOptions {
  const folders = { HOME: home, XDG_DATA_HOME: join(home, 'data'), XDG_CONFIG_HOME: join(home, 'config') };
  return { ...options, env: { PATH: process.env.PATH, ...folders, ...env } };
}

const run = (args: readonly string[], options?: ProgramOptions) => runWispr(args, atHome(options));

const bind = async (...args: string[]) =>
  run(['bind', await keyServer.invite(), '--trust-site', 'news.example', ...here, ...args]);

async function startProxyCommand(...args: string[]) {
  const settings = ['--port', '0', ...here];
  const running = await startWispr<{ proxy: string; sites: { site: string; gateway: string }[]; locked: boolean }>(
    ['proxy', ...settings, ...args],
    atHome(),
  );
  cleanUp.add(() => running.stop('SIGKILL'));
  return { ...running, port: Number(new URL(running.ready.proxy).port) };
}

/** One clear line on what happened, perhaps a hint, and no trace of a stack. */
function expectWords(stderr: string): void {
  const lines = stderr.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(2);
  for (const line of lines) expect(line).toMatch(/^wispr: /);
  expect(stderr).not.toMatch(/\bat .*:\d+:\d+|internal error/);
}

describe('wispr bind and wispr proxy', () => {
  it('keep as much of what was read as is said, and say so where a content host gives wrong bytes', async () => {
    await publisher.publish(host.files, '/a.html', { content: 'read once' });
    await publisher.publish(host.files, '/b.html', { content: 'changed on the way' });
    await bind('--yes');
    const running = await startProxyCommand('--cache-size', '1.5M');
    expect((await send(running.port, 'http://news.example/a.html')).text).toBe('read once');
    const kept = () => readdir(join(home, '.cache', 'wispr', 'objects'), { recursive: true });
    await expect.poll(async () => (await kept().catch(() => [])).length).toBe(2); // a folder, and the object in it
    host.files.set(publisher.fileOf('/b.html'), Buffer.from('something else'));
    expect((await send(running.port, 'http://news.example/b.html')).status).toBe(502);
    await expect
      .poll(() => running.stderr())
      .toMatch(/^wispr: warning: http:\/\/news\.example gave bytes .*head-unexpected/m);
    await running.stop();
    host.files.clear();
    const nothing = await startProxyCommand('--cache-size', '0');
    expect((await send(nothing.port, 'http://news.example/a.html')).status).not.toBe(200);
    for (const size of ['-1', 'much', '5X', '1e9'])
      expect((await run(['proxy', '--port', '0', '--cache-size', size])).code).toBe(2);
  });

  it('connect a device and read; a site bound while the proxy runs is there at the next request', async () => {
    await publisher.publish(host.files, '/a.html', { content: 'read at last' });
    const running = await startProxyCommand();
    expect(running.ready.sites).toEqual([]);
    expect((await send(running.port, 'http://news.example/a.html')).status).toBe(404); // passes through
    const bound = await bind('--yes', '--json');
    expect([bound.code, bound.stderr.includes('news.example')]).toEqual([0, true]);
    const { sites } = JSON.parse(bound.stdout) as { sites: { gateway: string }[] };
    expect((await send(running.port, 'http://news.example/a.html')).text).toBe('read at last');
    const { hostname: gateway, port } = new URL(sites[0]?.gateway ?? '');
    expect(Number(port)).toBe(running.port); // of the Reader that runs
    expect((await send(running.port, '/a.html', { headers: { host: `${gateway}:${running.port}` } })).text).toBe(
      'read at last',
    );
    const { code, stderr } = await running.stop('SIGTERM');
    expect([code, stderr]).toEqual([0, expect.stringContaining(`ready on ${running.ready.proxy}`)]);
  });

  it('say which port the Reader took where another program has the usual one, and name that from then on', async () => {
    const squatter = createServer((socket) => socket.on('error', () => undefined).destroy());
    await new Promise<void>((resolve) => squatter.listen(0, '127.0.0.1', resolve));
    cleanUp.add(() => new Promise((resolve) => squatter.close(resolve)));
    const { port: taken } = squatter.address() as { port: number };
    const directory = join(home, 'data', 'wispr');
    const store = await ReaderStore.open({ directory, keyFile: join(home, 'config', 'wispr', 'reader.key') });
    new SettingsKeeper(store.preferences).save(new Map([['port', String(taken)]]));
    store.close();
    const running = await startWispr<{ proxy: string; page: string }>(['proxy'], atHome());
    cleanUp.add(() => running.stop('SIGKILL'));
    const { port } = new URL(running.ready.proxy);
    expect(Number(port)).not.toBe(taken);
    expect(running.ready.page).toBe(`http://localhost:${port}/`);
    await expect.poll(running.stderr).toContain(`wispr: your page: http://localhost:${port}/`);
    expect(running.stderr()).toContain(`wispr: port ${taken} is in use by another program: the Reader took ${port}`);
    await running.stop('SIGTERM');
    const bound = await bind('--yes', '--json'); // none runs: the port is remembered
    const { sites, running: runs } = JSON.parse(bound.stdout) as { sites: { gateway: string }[]; running: boolean };
    expect([new URL(sites[0]?.gateway ?? '').port, runs]).toEqual([port, false]);
    const elsewhere = await startProxyCommand('--port', '0');
    const own = `localhost:${elsewhere.port}/`;
    for (const text of [(await bind('--yes')).stderr, (await run(['proxy', 'status'])).stdout])
      expect([text.includes(own), text.match(/localhost:\d+/g)?.length]).toEqual([true, 1]);
  });

  it('name no address where no Reader runs, and nothing says which port it will have', async () => {
    const bound = await bind('--yes');
    const status = await run(['proxy', 'status']);
    expect([bound.code, bound.stderr]).toEqual([0, expect.stringContaining('connected: news.example\n')]);
    expect(status.stdout).toContain('news.example: not read yet\n');
    for (const text of [bound.stderr, status.stdout]) expect(text).not.toContain('localhost');
  });

  it('run as the process that was started, with small heaps', async () => {
    const { pid } = await startProxyCommand('--quiet');
    const started = (file: string) => readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0');
    expect(started('cmdline')).toEqual(expect.arrayContaining(FRUGAL_FLAGS));
    expect(started('environ')).toContain('MALLOC_ARENA_MAX=1');
  });

  it('load neither a compiler, once they have run, nor the fetch of Node.js, which would take 25 MiB and a tenth of a second', async () => {
    await (await startProxyCommand('--quiet')).stop();
    const tell = "process.on('exit',()=>console.error(process.moduleLoadList.join('\\n')))";
    const options = atHome({ env: { NODE_OPTIONS: `--import=data:text/javascript,${tell}` } });
    const running = await startWispr(['proxy', '--port', '0', '--quiet'], options);
    const { stderr } = await running.stop();
    expect(stderr).toContain('NativeModule _http_server');
    expect(stderr.match(/internal\/deps\/(?:amaro|undici).*/g)).toBeNull();
  });

  it('end at once on SIGINT, also while a request is under way', async () => {
    host.handlers.set('/never', () => undefined);
    const running = await startProxyCommand('--quiet');
    const waiting = send(running.port, 'http://elsewhere.example/never').catch(() => undefined);
    await expect.poll(() => host.requests.length).toBe(1);
    const { code, stderr } = await running.stop('SIGINT');
    expect([code, stderr]).toEqual([0, '']);
    await waiting;
  });

  it('never show, log or send the code but where it belongs', async () => {
    const link = await keyServer.invite();
    const [, code = ''] = /#([^.]*)/.exec(link) ?? [];
    const bound = await run(['bind', '-', '--yes', '--trust-site', 'news.example', ...here], { input: `${link}\n` });
    expect([bound.code, bound.stderr]).toEqual([0, expect.not.stringContaining('history')]);
    const env = { XDG_DATA_HOME: join(home, 'another device'), XDG_CONFIG_HOME: join(home, 'another device') };
    const used = await run(['bind', link, '--yes', '--trust-site', 'news.example', ...here], { env });
    expect(used.code).toBe(1);
    for (const text of [bound.stdout, bound.stderr, used.stdout, used.stderr]) {
      expect(text).not.toContain(code);
      expect(text).not.toContain(code.replaceAll('-', ''));
    }
  });

  it('take the link from standard input, where none is an argument; one that is an argument is in the history of the shell', async () => {
    const how = ['--yes', '--trust-site', 'news.example', ...here];
    const printed = `${await keyServer.invite()}\n`;
    const given = await run(['bind', ...how], { input: printed });
    expect([given.code, given.stderr]).toEqual([0, expect.stringContaining('connected: news.example')]);
    expect(given.stderr).not.toContain('history');
    const typed = await run(['bind', await keyServer.invite(), ...how]);
    expect(typed.stderr.match(/history of your shell/g)).toHaveLength(1);
    expect((await run(['bind', keyServer.origin, ...how])).stderr).not.toContain('history');
    expect((await run(['bind', await keyServer.invite(), ...how, '--quiet'])).stderr).toBe('');
  });

  it('take a code alone, with the site that it is for', async () => {
    const dns = await startDnsServer();
    cleanUp.add(dns.close);
    dns.records.set('_wispr.news.example', [hostProofLine(publisher.root.id)]);
    const [, code = ''] = /#([^.]*)/.exec(await keyServer.invite()) ?? [];
    const how = ['--dns-server', dns.address, '--connect-to', ':443:127.0.0.1:9', ...here];
    const unnamed = await run(['bind', '--yes', ...how], { input: code });
    expect([unnamed.code, unnamed.stderr]).toEqual([2, expect.stringContaining('--site news.example')]);
    const bound = await run(['bind', '--yes', '--site', 'news.example', ...how], { input: code });
    expect([bound.code, bound.stderr]).toEqual([0, expect.stringContaining('DNS alone names this publisher')]);
  });

  it('ask for link and site on a terminal', async () => {
    const dns = await startDnsServer();
    cleanUp.add(dns.close);
    dns.records.set('_wispr.news.example', [hostProofLine(publisher.root.id)]);
    const [, code = ''] = /#([^.]*)/.exec(await keyServer.invite()) ?? [];
    const place = ['--data', join(home, 'terminal'), '--key-file', join(home, 'terminal.key')];
    const args = ['bind', '--dns-server', dns.address, '--connect-to', ':443:127.0.0.1:9', ...here, ...place];
    const answers = [['the link or code of your invitation', `${code}\r`], ['the site that it is for', 'news.example\r'], ['connect news.example?', 'y\r']] as const; // biome-ignore format: one line
    const { code: exit, shown } = await runOnTerminal(args, answers, { cwd: home });
    expect([exit, shown]).toEqual([0, expect.stringContaining('connected: news.example')]);
  });

  it('prove a host by DNS, and a key server by its certificate', async () => {
    const certificate = await makeCertificate(home, ['IP:127.0.0.1', 'DNS:news.example']);
    const secure = await HostileKeyServer.start(publisher, { tls: certificate });
    cleanUp.add(() => secure.close());
    await publisher.sign(host.files);
    const dns = await startDnsServer();
    cleanUp.add(dns.close);
    const bindAt = async (port: string) => {
      const proof = ['--dns-server', dns.address, '--connect-to', `:443:127.0.0.1:${port}`];
      return ['bind', `wispr bind ${await secure.invite()}`, '--yes', ...proof, ...here];
    };
    const args = await bindAt(new URL(secure.origin).port); // which answers, and knows nothing of a publisher
    const untrusted = await run(args);
    expect([untrusted.code, untrusted.stderr]).toEqual([1, expect.stringContaining('certificate')]);
    expectWords(untrusted.stderr);
    const env = { NODE_EXTRA_CA_CERTS: certificate.caFile };
    const unreached = await run(await bindAt('9'), { env });
    expect([unreached.code, unreached.stderr]).toEqual([1, expect.stringContaining('[host-unreachable]')]);
    expectWords(unreached.stderr);
    const unproved = await run(args, { env });
    expect([unproved.code, unproved.stderr]).toEqual([1, expect.stringContaining('does not name this publisher')]);
    const [, hint = ''] = unproved.stderr.split('\nwispr: hint: ');
    const whereToPut = [
      'https://news.example/.well-known/wispr-site',
      '_wispr.news.example',
      '--trust-site news.example',
    ];
    for (const words of [...whereToPut, hostProofLine(publisher.root.id)]) expect(hint).toContain(words);
    expectWords(unproved.stderr);
    dns.records.set('_wispr.news.example', [hostProofLine(publisher.root.id)]);
    expect((await run(args, { env })).code).toBe(0);
  });

  it('log refusals without queries, and nothing when told to be quiet', async () => {
    await publisher.sign(host.files);
    await bind('--yes');
    const running = await startProxyCommand();
    await send(running.port, 'http://news.example/missing.html?secret=1');
    await expect.poll(running.stderr).toContain('refused news.example/missing.html: no-such-document');
    expect(running.stderr()).not.toContain('secret');
  });
});

describe('what is typed wrong is exit code 2', () => {
  it.each([
    [['bind'], /link of an invitation/],
    [['bind', 'nonsense'], /link of an invitation/],
    [['bind', 'http://keys.example#0000000000000000'], /https/],
    [['bind', 'https://keys.example#too-short'], /not an invitation code/],
    [['bind', 'https://keys.example#', '--yes'], /not an invitation code/],
    [['bind', 'https://keys.example', '--trust-site', 'a b'], /host name/],
    [['bind', 'https://keys.example', '--dns-server', 'nonsense'], /IP address/],
    [['bind', 'https://keys.example/', '--unknown'], /unknown option/],
    [['proxy', '--port', 'eighty'], /port/],
    [['proxy', '--port', '70000'], /port/],
    [['proxy', '--connect-to', 'a:b'], /HOST1:PORT1:HOST2:PORT2/],
    [['proxy', '--allow-local', 'http://a'], /HOST\[:PORT\]/],
    [['proxy', '--parent-proxy', 'nonsense'], /proxy/],
    [['proxy', '--parent-proxy', 'http://me:secret@127.0.0.1:9'], /--parent-proxy-file/],
    [['proxy', '--parent-proxy', 'http://a', '--parent-proxy-file', '/dev/null'], /leave one of them out/],
    [['proxy', 'extra'], /argument/],
    [['proxy', '--passphrase-file', '/nowhere/at/all'], /passphrase/],
  ])('%j', async (args, words) => {
    const { code, stderr, stdout } = await run(args);
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(words)]);
    expectWords(stderr);
  });

  it('a question without a terminal to ask on', async () => {
    const { code, stderr } = await bind();
    expect([code, stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(await keyServer.devices()).toBe(0);
  });
});

describe('what goes wrong is one clear line and exit code 1', () => {
  it('a port that is taken', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as { port: number };
    const { code, stderr } = await run(['proxy', '--port', String(port)]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`port ${port} is in use`)]);
    expectWords(stderr);
    taken.close();
  });

  it('a wrong passphrase, or none', async () => {
    const file = join(home, 'passphrase');
    writeFileSync(file, 'the right one\n', { mode: 0o600 });
    expect((await bind('--yes', '--passphrase-file', file)).code).toBe(0);
    const none = await bind('--yes');
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('protected by a passphrase')]);
    expectWords(none.stderr);
    writeFileSync(file, 'wrong\n');
    const wrong = await run(['proxy', '--port', '0', '--passphrase-file', file]);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('does not open')]);
    expectWords(wrong.stderr);
    writeFileSync(file, 'the right one\n');
    const running = await startProxyCommand('--passphrase-file', file);
    expect(running.ready.sites.map(({ site }) => site)).toEqual(['news.example']);
    expect(await readdir(home)).not.toContain('config');
  });

  it('a damaged database, left as it was', async () => {
    const folder = join(home, 'data', 'wispr');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'reader.db'), 'not a database, whatever it was before this happened to it');
    for (const args of [
      ['proxy', '--port', '0'],
      ['bind', await keyServer.invite(), '--yes'],
    ]) {
      const { code, stderr } = await run(args);
      expect([code, stderr]).toEqual([1, expect.stringContaining('damaged')]);
      expectWords(stderr);
    }
    expect(readFileSync(join(folder, 'reader.db'), 'utf8')).toContain('not a database');
    expect(await readdir(folder)).toEqual(['reader.db']);
  });

  it('a key server that is not there, or is none', async () => {
    const gone = await run(['bind', 'http://127.0.0.1:9#0000-0000-0000-0000', '--yes', ...here]);
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining('could not be reached')]);
    expectWords(gone.stderr);
    const none = await run(['bind', `http://127.0.0.1:${host.port}#0000-0000-0000-0000`, '--yes', ...here]);
    expect([none.code, none.stderr]).toEqual([1, expect.stringContaining('answered 404')]);
    expectWords(none.stderr);
  });
});

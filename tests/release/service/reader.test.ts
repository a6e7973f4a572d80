/** `wispr proxy install`, `status` and `remove`, with systemd's own user manager where there is one, and without. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { send } from '../../support/http-client.ts';
import { type Ended, ROOT, runProgram, startCommand } from '../../support/programs.ts';
import { isInTheOneVoice, type ReaderHome, startReaderHome } from '../../support/reader-home.ts';
import { CleanUp } from '../../support/reader-rig.ts';
import { startSystemdSession } from '../../support/systemd-session.ts';

const WISPR = [process.execPath, `${ROOT}bin/wispr.js`];
const cleanUp = new CleanUp();
let reader: ReaderHome;
let unit: string;
beforeEach(async () => {
  reader = await startReaderHome(cleanUp);
  unit = join(reader.home, 'config', 'systemd', 'user', 'wispr.service');
});
afterEach(() => cleanUp.run());

const proxy = (...args: string[]): Promise<Ended> => reader.run(['proxy', ...args]);

describe('with a session of systemd', () => {
  it('the Reader is installed, runs, comes back, and is removed without a trace', async () => {
    const session = await startSystemdSession(cleanUp, reader.atHome().env ?? {});
    const wispr = (...args: string[]) => session.run([...WISPR, ...args]);
    const systemctl = (...args: string[]) => session.run(['systemctl', '--user', ...args]);
    await reader.publisher.publish(reader.host.files, '/a.html', { content: 'read at last' });
    expect((await reader.bind()).code).toBe(0);
    const none = await wispr('proxy', 'status');
    expect([none.code, none.stdout]).toEqual([1, expect.stringContaining('service: not installed')]);

    const installing = ['proxy', 'install', '--yes', '--port', '0', ...reader.connectTo];
    const installed = await wispr(...installing, '--json');
    expect([installed.code, installed.stderr]).toEqual([0, '']);
    const { proxy: url, ...done } = JSON.parse(installed.stdout) as { proxy: string };
    expect(done).toEqual({ unit, changed: true, running: true });
    const { port } = new URL(url);
    expect((await send(Number(port), 'http://news.example/a.html')).text).toBe('read at last');
    expect((await systemctl('is-enabled', 'wispr.service')).stdout).toBe('enabled\n');

    const status = await wispr('proxy', 'status', '--json');
    const known = JSON.parse(status.stdout) as { running: { process: number; url: string } };
    expect([status.code, known]).toEqual([
      0,
      expect.objectContaining({
        running: expect.objectContaining({ startedBy: 'service', url }),
        service: { manager: 'answers', unit, active: true, enabled: true },
        sites: [
          expect.objectContaining({ site: 'news.example', publication: expect.objectContaining({ kind: 'current' }) }),
        ],
      }),
    ]);
    const again = await wispr(...installing, '--json');
    expect(JSON.parse(again.stdout)).toEqual({ unit, changed: false, running: true, proxy: url });

    await session.run(['kill', '-KILL', String(known.running.process)]);
    await expect
      .poll(async () => (await wispr('proxy', 'status')).stdout, { timeout: 60_000 })
      .toMatch(/^running on .* started by the service/);

    const removed = await wispr('proxy', 'remove', '--json');
    const link = join(unit, '..', 'default.target.wants', 'wispr.service');
    const folder = join(unit, '..');
    const { removed: gone } = JSON.parse(removed.stdout) as { removed: string[] };
    expect(gone.filter((path) => path !== join(link, '..'))).toEqual([link, unit, folder, join(folder, '..')]);
    for (const path of gone) expect([path, existsSync(path)]).toEqual([path, false]);
    expect([existsSync(unit), existsSync(link)]).toEqual([false, false]);
    expect((await systemctl('is-active', 'wispr.service')).stdout).toBe('inactive\n');
    expect((await wispr('proxy', 'status')).code).toBe(1);
    expect((await wispr('proxy', 'remove')).stderr).toBe('wispr: nothing was installed\n');
    expect(existsSync(join(reader.home, 'data', 'wispr', 'reader.db'))).toBe(true);
  });

  it('a Reader that cannot start is said, and can be removed', async () => {
    const session = await startSystemdSession(cleanUp, reader.atHome().env ?? {});
    const data = join(reader.home, 'data', 'wispr');
    mkdirSync(data, { recursive: true });
    writeFileSync(join(data, 'reader.db'), 'not a database, whatever it was before this happened to it');
    const { code, stderr } = await session.run([...WISPR, 'proxy', 'install', '--yes', '--port', '0']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('[service-failed]')]);
    expect(isInTheOneVoice(stderr)).toBe(true);
    expect((await session.run([...WISPR, 'proxy', 'remove'])).code).toBe(0);
  });
});

describe('without a session', () => {
  it('the unit is written, passes systemd-analyze, starts the Reader, and what to type is said', async () => {
    const odd = join(reader.home, `a "strange" $HOME 100% \\ folder`);
    const { code, stderr } = await proxy(
      'install',
      '--yes',
      '--port',
      '0',
      '--data',
      odd,
      '--parent-proxy',
      'http://127.0.0.1:9',
    );
    expect([code, stderr]).toEqual([0, expect.stringContaining('systemctl --user enable --now wispr.service')]);
    const text = readFileSync(unit, 'utf8');
    expect(text).toContain('Environment="XDG_CONFIG_HOME=');
    const verified = await startCommand(['systemd-analyze', '--user', 'verify', unit], reader.atHome()).ended;
    expect(verified).toEqual({ code: 0, stdout: '', stderr: '' });
    const words = [...(/^ExecStart=(.*)$/m.exec(text)?.[1]?.matchAll(/"((?:\\.|[^"\\])*)"/g) ?? [])];
    const command = words.map(([, word = '']) =>
      word.replace(/\\(.)/g, '$1').replaceAll('%%', '%').replaceAll('$$', '$'),
    );
    expect(command).toContain(odd);
    const started = startCommand([...command, '--json'], reader.atHome());
    cleanUp.add(() => started.stop('SIGKILL'));
    expect(JSON.parse(await started.line(/^\{/))).toEqual(expect.objectContaining({ sites: [] }));
    expect((await started.stop('SIGTERM')).code).toBe(0);
    expect(readdirSync(odd)).toContain('reader.db');
    expect((await proxy('remove')).stderr).toContain(`removed ${unit}\n`);
    expect(existsSync(join(reader.home, 'config', 'systemd'))).toBe(false);
  });

  it('a second install writes the options that it is given, and the status tells of the unit', async () => {
    const first = ['--port', '8001', '--connect-to', 'a.example:80:127.0.0.1:9', '--allow-local', '127.0.0.1'];
    expect((await proxy('install', '--yes', ...first)).code).toBe(0);
    const status = await proxy('status');
    expect(status.stdout).toContain(`service: installed, and no systemd of a login session answers here: ${unit}\n`);
    expect(status.stderr).toMatch(/^wispr: hint: .*systemctl --user enable --now wispr\.service\n$/);
    expect((await proxy('install', '--yes', '--port', '8002', '--allow-local', '127.0.0.1')).code).toBe(0);
    const text = readFileSync(unit, 'utf8');
    expect(text).toContain('"--port" "8002" "--allow-local" "127.0.0.1"');
    expect(text).not.toContain('--connect-to');
  });

  it('a password of the parent proxy is in a file of its own, and in no argument', async () => {
    const parent = join(reader.home, 'parent');
    writeFileSync(parent, 'http://me:topsecret@127.0.0.1:9\n', { mode: 0o600 });
    const refused = await proxy('install', '--yes', '--parent-proxy', 'http://me:topsecret@127.0.0.1:9');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--parent-proxy-file')]);
    expect(refused.stderr).not.toContain('topsecret');
    expect(existsSync(unit)).toBe(false);
    expect((await proxy('install', '--yes', '--parent-proxy-file', parent)).code).toBe(0);
    const text = readFileSync(unit, 'utf8');
    expect(text).toContain(`"--parent-proxy-file" "${parent}"`);
    expect(text).not.toContain('topsecret');
  });

  it('only its user can read the unit', async () => {
    expect((await proxy('install', '--yes', '--port', '0')).code).toBe(0);
    expect(statSync(unit).mode & 0o777).toBe(0o600);
    expect((await proxy('install', '--yes', '--port', '0')).stderr).toContain('already there');
  });

  it('a unit of another program is neither replaced nor removed', async () => {
    mkdirSync(join(unit, '..'), { recursive: true });
    writeFileSync(unit, '[Service]\nExecStart=/bin/true\n');
    for (const args of [
      ['install', '--yes'],
      ['remove', '--yes'],
    ]) {
      const { code, stderr } = await proxy(...args);
      expect([code, stderr]).toEqual([1, expect.stringContaining('[service-failed]')]);
      expect(isInTheOneVoice(stderr)).toBe(true);
    }
    expect(readFileSync(unit, 'utf8')).toBe('[Service]\nExecStart=/bin/true\n');
    const { stdout, stderr } = await proxy('status');
    expect(stdout).toContain(`service: another program's, which "wispr proxy install" did not write: ${unit}\n`);
    expect(stderr).toMatch(/^wispr: hint: "wispr proxy" starts the Reader; .* move it away\n$/);
    const { service } = JSON.parse((await proxy('status', '--json')).stdout) as { service: unknown };
    expect(service).toMatchObject({ unit, foreign: true });
  });

  it('nor beside a Reader that was started by hand', async () => {
    const { pid, ready } = await reader.startProxy();
    const { code, stderr } = await proxy('install', '--yes');
    expect([code, stderr]).toEqual([1, expect.stringContaining('[reader-running]')]);
    for (const named of [ready.proxy, `kill ${pid}`]) expect(stderr).toContain(named);
    const erasing = await proxy('remove', '--erase-data', '--yes');
    expect([erasing.code, erasing.stderr]).toEqual([1, expect.stringContaining('[reader-running]')]);
    expect(existsSync(join(reader.home, 'data', 'wispr', 'reader.db'))).toBe(true);
  });

  it('and erasing beside one removes nothing at all: the unit is there, and is named when its turn comes', async () => {
    expect((await proxy('install', '--yes', '--port', '1')).code).toBe(0);
    const { stop } = await reader.startProxy();
    const { code, stderr } = await proxy('remove', '--erase-data', '--yes');
    expect([code, stderr]).toEqual([1, expect.stringContaining('[reader-running]')]);
    expect([existsSync(unit), stderr.includes('to be erased: ')]).toEqual([true, false]);
    await stop();
    const after = await proxy('remove', '--erase-data', '--yes');
    expect([after.code, existsSync(unit)]).toEqual([0, false]);
    for (const path of [unit, join(reader.home, 'data', 'wispr', 'reader.db')])
      for (const what of ['to be erased: ', 'removed ']) expect(after.stderr).toContain(`wispr: ${what}${path}\n`);
  });

  it('a machine without systemd is told so', async () => {
    const bin = join(reader.home, 'bin');
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, 'node'));
    const { code, stderr } = await runProgram(
      'bin/wispr.js',
      ['proxy', 'install', '--yes'],
      reader.atHome({ env: { PATH: bin } }),
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('[service-failed]')]);
    expect(existsSync(unit)).toBe(false);
  });

  it('nothing without a yes', async () => {
    for (const args of [['install'], ['install', '--passphrase', '--yes']]) {
      const { code, stderr } = await proxy(...args);
      expect([code, isInTheOneVoice(stderr)]).toEqual([2, true]);
    }
    expect((await reader.bind()).code).toBe(0);
    expect((await proxy('remove', '--erase-data')).code).toBe(2);
    expect(existsSync(join(reader.home, 'data', 'wispr', 'reader.db'))).toBe(true);
  });

  it('erasing takes database, key and cache, and nothing beside them', async () => {
    expect((await reader.bind()).code).toBe(0);
    const running = await reader.startProxy();
    await running.stop();
    const beside = join(reader.home, 'data', 'wispr', 'mine.txt');
    writeFileSync(beside, 'mine');
    const { code, stdout } = await proxy('remove', '--erase-data', '--yes', '--json');
    const { removed } = JSON.parse(stdout) as { removed: string[] };
    expect(code).toBe(0);
    for (const name of ['data/wispr/reader.db', 'config/wispr/reader.key', 'cache/wispr/objects', 'cache/wispr'])
      expect(removed).toContain(join(reader.home, name));
    for (const path of removed) expect([path, existsSync(path)]).toEqual([path, false]);
    expect(readdirSync(join(reader.home, 'data', 'wispr'))).toEqual(['mine.txt']);
  });
});

describe('wispr proxy status', () => {
  it('names the port that the service was installed with, as connecting does', async () => {
    expect((await proxy('install', '--yes', '--port', '8765')).code).toBe(0);
    expect((await reader.bind()).stderr).toMatch(/opened at http:\/\/news-example-\w+\.localhost:8765\/$/m);
    expect((await proxy('status')).stdout).toMatch(/^news\.example: .*\.localhost:8765\/$/m);
    expect((await proxy('remove')).code).toBe(0);
    expect((await proxy('status')).stdout).toMatch(/^news\.example: not read yet$/m); // nothing says which port comes next
  });

  it('can be asked by its own user only, and is there again after a Reader was killed', async () => {
    const first = await reader.startProxy('--quiet');
    await first.stop('SIGKILL');
    const folder = join(reader.home, 'data', 'wispr', 'running');
    expect(readdirSync(folder)).toEqual(['socket']);
    expect((await proxy('status')).code).toBe(1);
    const second = await reader.startProxy('--quiet');
    expect((await proxy('status')).code).toBe(0);
    for (const path of [reader.home, join(reader.home, 'data'), join(folder, '..')]) chmodSync(path, 0o755);
    const another =
      process.getuid?.() === 0
        ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
        : ['sudo', '-n', '-u', 'nobody'];
    const asking = ['curl', '--silent', '--unix-socket', join(folder, 'socket'), 'http://localhost/'];
    const asked = await startCommand([...another, ...asking], reader.atHome()).ended;
    expect([asked.code, asked.stdout]).toEqual([7, '']); // curl: failed to connect
    await second.stop();
    expect(existsSync(folder)).toBe(false);
  });
});

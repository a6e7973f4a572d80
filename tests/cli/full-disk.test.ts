/** Programs that write files, each on a small file system that is full, with the system's own answers. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectOneVoice } from '../support/one-voice.ts';
import type { Ended } from '../support/programs.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { IS_RELEASE } from '../support/tier.ts';
import { runWispr, startInProcess } from '../support/wispr.ts';
import { PASSPHRASE } from '../support/workspace.ts';

/** Free bytes that a command finds: it comes further with each, until there is enough. */
const ROOMS = IS_RELEASE ? [0, ...Array.from({ length: 48 }, (_, index) => 4096 * (index + 1)), 2 ** 19] : [0];
const STAY = ['httpcrypt', 'keyserver', 'link', 'proxy', 'serve'];
/** Files that a command may have changed in part; all others are as they were. */
const WORKED_ON = /\.db|publisher\.keys$/;

let home: string;
let disk: SmallDisk;
const at = (...names: string[]) => join(home, ...names);

/** States that commands begin from: nothing, a site that has changed since it was published, and a key server. */
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'wispr-full-'));
  disk = mountSmallDisk(at('disk'), 12);
  for (const name of ['empty', 'publisher/site', 'server']) mkdirSync(at('states', name), { recursive: true });
  writeFileSync(at('passphrase'), PASSPHRASE, { mode: 0o600 });
  writeFileSync(at('states/publisher/site/a.txt'), 'a');
  const listen = { host: '127.0.0.1', port: 0 };
  const paths = { data: 'keyserver.db', masterKey: 'master.key', publicKey: 'keyserver.pub' };
  writeFileSync(
    at('states/server/keyserver.json'),
    JSON.stringify({ listen, reading: { listen, documents: { listen } }, ...paths }),
  );
  writeFileSync(at('states/server/list.csv'), 'name,plan\nada,daily\n');
  for (const line of ['init https://news.example --serverless', 'invite ada', 'publish target -y'])
    expect(await run(line, at('states/publisher'))).toMatchObject({ code: 0 });
  writeFileSync(at('states/publisher/site/b.txt'), 'b');
  await (await startInProcess(['keyserver', '--dev'], { cwd: at('states/server') })).stop();
  expect(await run('admin plan daily --sets *', at('states/server'))).toMatchObject({ code: 0 });
});
afterAll(() => {
  disk.unmount();
  rmSync(home, { recursive: true });
});

/** Programs that stay are stopped as soon as they are ready. */
async function run(line: string, cwd: string): Promise<Ended> {
  const typed = line.split(' ');
  const isPublishers = existsSync(join(cwd, 'site')) || typed[0] === 'init';
  const args = [...typed, ...(isPublishers ? ['--passphrase-file', at('passphrase')] : [])];
  const options = { cwd, env: { ...process.env, TMPDIR: at('disk') } };
  if (!STAY.includes(typed[0] ?? '')) return runWispr(args, options);
  try {
    return await (await startInProcess(args, options)).stop();
  } catch (error) {
    return { code: 1, stdout: '', stderr: (error as Error).message.replace('ended with 1: ', '') };
  }
}

function filesIn(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = entries.map(({ parentPath, name }) => join(parentPath, name)).filter((path) => !WORKED_ON.test(path));
  return Object.fromEntries(paths.map((path) => [path, readFileSync(path, 'latin1')]));
}

/** Folder in which the command runs, and writes if no argument says `../disk`. */
const HERE = 'disk/here';
const BESIDE = 'beside';

it.each([
  [HERE, 'empty', 'init https://news.example'],
  [HERE, 'publisher', 'protect'],
  [BESIDE, 'publisher', 'protect --out ../disk/new'],
  [HERE, 'publisher', 'publish target -y'],
  [BESIDE, 'publisher', 'publish ../disk/new -y'],
  [HERE, 'publisher', 'keys new-signer a.key'],
  [HERE, 'publisher', 'keys rotate timestamp'],
  [HERE, 'publisher', 'invite eve'],
  [BESIDE, 'empty', 'cache-config squid --write ../disk/new'],
  [HERE, 'empty', 'keyserver --dev'],
  [HERE, 'server', 'keyserver --dev'],
  [HERE, 'server', 'admin plan weekly --sets *'],
  [HERE, 'server', 'admin token'],
  [HERE, 'server', 'admin rotate recipient'],
  [HERE, 'server', 'invite bob --plan daily'],
  [BESIDE, 'server', 'admin import list.csv --links ../disk/new'],
  [BESIDE, 'server', 'admin backup ../disk/new'],
  [BESIDE, 'server', 'admin backup --daily ../disk/new'],
  [HERE, 'empty', 'link near --far 127.0.0.1:9 --listen 127.0.0.1:0 --store store.db'],
  [HERE, 'empty', 'proxy --port 0 --data data --key-file reader.key'],
  [HERE, 'empty', 'serve ../../states/publisher/site --port 0'],
] as const)(
  'in %s, from %s: wispr %s says that the disk is full, and does its work when there is room (attack 145)',
  async (place, state, line) => {
    const cwd = at(place);
    for (const room of ROOMS) {
      for (const path of [cwd, at('disk/new')]) rmSync(path, { recursive: true, force: true });
      cpSync(at('states', state), cwd, { recursive: true });
      const before = filesIn(cwd);
      disk.fill(room);
      const ended = await run(line, cwd);
      const after = filesIn(cwd);
      disk.makeRoom();
      if (ended.code !== 0) {
        expect([room, ended.code, ended.stderr]).toEqual([
          room,
          1,
          expect.stringMatching(
            /^wispr: (?:[^:]*: )?the disk is full: .*[/.]\w+.* \[disk-full\]\nwispr: hint: make room on .*\n$/m,
          ),
        ]);
        expectOneVoice(ended);
        expect(after).toMatchObject(before);
        const again = await run(line, cwd);
        expect([room, again]).toMatchObject([room, { code: 0 }]);
        expect(again.stderr).toContain(line.includes('--links') ? '1 link written' : '');
      }
      if (ended.code === 0) return expect(room).toBeGreaterThan(0);
    }
  },
);

it('a key server that runs keeps nothing that it cannot, says why, and goes on when there is room (attack 145)', async () => {
  const cwd = at('disk/running');
  cpSync(at('states/server'), cwd, { recursive: true });
  const { stdout } = await run('admin token --for subscriptions', cwd);
  const server = await startInProcess(['keyserver', '--dev'], { cwd });
  const begin = async () => {
    const headers = { authorization: `Bearer ${stdout.trim()}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ subscriber: 'ada', plan: 'daily' });
    const answer = await fetch(`${server.ready.keyserver}/v1/subscriptions/begin`, { method: 'POST', headers, body });
    return [answer.status, await answer.text()];
  };
  disk.fill();
  expect(await begin()).toEqual([503, '{"error":"disk-full"}']);
  expect(await (await fetch(`${server.ready.keyserver}/healthz`)).json()).toEqual({ problems: ['disk-full'] });
  disk.makeRoom();
  expect(await begin()).toEqual([200, expect.any(String)]);
  await server.stop();
  rmSync(cwd, { recursive: true });
});

/** Who may ask a running Reader for its status. */
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Ended, startCommand } from '../../support/programs.ts';
import { type ReaderHome, startReaderHome } from '../../support/reader-home.ts';
import { CleanUp } from '../../support/reader-rig.ts';

const cleanUp = new CleanUp();
let reader: ReaderHome;
beforeEach(async () => {
  reader = await startReaderHome(cleanUp);
});
afterEach(() => cleanUp.run());

const proxy = (...args: string[]): Promise<Ended> => reader.run(['proxy', ...args]);

it('wispr proxy status can be asked by its own user only, and is there again after a Reader was killed', async () => {
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

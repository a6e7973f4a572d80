/** The units of the Debian package, by what systemd says of them. */
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../../support/keyserver-rig.ts';
import { ROOT, startCommand } from '../../support/programs.ts';

/** Score that `systemd-analyze security` gives a unit: 0 is best, and 10 worst. A service with network and a compiler (V8) does not reach 0. */
const WORST_EXPOSURE = 1.6;

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
  for (const name of ['system', 'user']) cpSync(join(ROOT, 'packaging/debian', name), folder, { recursive: true });
  // The program need not be installed here.
  for (const unit of globSync(join(folder, '*.service')))
    writeFileSync(unit, readFileSync(unit, 'utf8').replaceAll('=/usr/bin/wispr ', '=/bin/true '));
});

const analyze = (...args: string[]) =>
  startCommand(['systemd-analyze', ...args], { env: { ...process.env, XDG_RUNTIME_DIR: folder } }).ended;

it.each([
  ['wispr-keyserver.service'],
  ['wispr-backup.service'],
  ['wispr-backup.timer'],
  ['wispr-proxy.service', '--user'],
])('systemd takes %s without a word', async (unit, ...flags) => {
  const said = await analyze(...flags, 'verify', '--man=no', join(folder, unit));
  expect(said).toEqual({ code: 0, stdout: '', stderr: '' });
});

it.each(['wispr-keyserver.service', 'wispr-backup.service'])('%s is exposed to little', async (unit) => {
  const { stdout } = await analyze('security', '--offline=true', '--no-pager', join(folder, unit));
  const [, exposure] = /Overall exposure level for .*: ([\d.]+)/.exec(stdout) ?? [];
  expect(Number(exposure)).toBeLessThanOrEqual(WORST_EXPOSURE);
});

/** Start of the npm package and of a clone: the one file that does it, with programs that stand for what it starts. */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ROOT, startCommand } from '../support/programs.ts';
import { CleanUp, temporaryFolder } from '../support/reader-rig.ts';

const PROGRAM = {
  'package.json': '{ "type": "module" }',
  'lib/cli/start-frugally.js': 'export function startFrugally() {}',
  'lib/cli/main.js': 'process.stdout.write(String(process.env.NODE_COMPILE_CACHE));',
};

const cleanUp = new CleanUp();
let root: string;
beforeEach(async () => {
  root = await temporaryFolder(cleanUp);
  for (const [file, text] of Object.entries(PROGRAM)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  mkdirSync(join(root, 'bin'));
  copyFileSync(join(ROOT, 'bin/wispr.js'), join(root, 'bin/wispr.js'));
});
afterEach(() => cleanUp.run());

it.each([
  [{ HOME: 'ROOT/home' }, 'ROOT/home/.cache/wispr-compiled'],
  [{ HOME: 'ROOT/home', XDG_CACHE_HOME: 'ROOT/cache' }, 'ROOT/cache/wispr-compiled'],
  [{ HOME: 'ROOT/home', XDG_CACHE_HOME: 'relative' }, 'ROOT/home/.cache/wispr-compiled'],
  [{ HOME: '' }, 'undefined'],
])('keeps compiled code in a folder of the user, never in the one where a command runs: %j', async (user, kept) => {
  const env = Object.fromEntries(Object.entries(user).map(([name, value]) => [name, value.replace('ROOT', root)]));
  const { stdout } = await startCommand([process.execPath, join(root, 'bin/wispr.js')], { env, cwd: root }).ended;
  expect(stdout).toBe(kept.replace('ROOT', root));
});

it.each([
  ['trap "exit 7" INT; echo ready; for _ in $(seq 100); do sleep 0.1; done', 7],
  ['echo ready; exec sleep 10', 130],
])('an older Node.js passes SIGINT on to that of the clone, and ends as it does: %s', async (script, code) => {
  const node = join(root, 'node_modules/.bin/node');
  for (const file of [node, join(root, 'cli/main.ts')]) mkdirSync(dirname(file), { recursive: true });
  writeFileSync(join(root, 'cli/main.ts'), '');
  writeFileSync(node, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const old = 'data:text/javascript,Object.defineProperty(process,"versions",{value:{node:"20.0.0"}})';
  const program = startCommand([process.execPath, '--import', old, join(root, 'bin/wispr.js')], { cwd: root });
  await program.line(/ready/);
  expect(await program.stop('SIGINT')).toMatchObject({ code });
});

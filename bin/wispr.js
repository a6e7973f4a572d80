#!/usr/bin/env node
// JavaScript without types, so that an old Node.js says what it lacks instead of a syntax error. A clone runs its sources as they are; the npm
// package has them in lib/, without their types (scripts/build-package.ts).
import { existsSync } from 'node:fs';
import { constants, homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(fileURLToPath(new URL('.', import.meta.url)), '..');
/** Tells the program which process it ends with. */
const PARENT = 'WISPR_PARENT';
const isClone = existsSync(join(ROOT, 'cli/main.ts'));
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.exitCode = await runWithNewerNode();
} else {
  await keepCompiledSources(); // comes first: without it, Node.js loads its compiler for TypeScript
  const { startFrugally } = await import(isClone ? '../cli/start-frugally.ts' : '../lib/cli/start-frugally.js');
  startFrugally();
  endWithParent();
  await import(isClone ? '../cli/main.ts' : '../lib/cli/main.js');
}

// Starts the version that npm has installed in a clone.
async function runWithNewerNode() {
  const own = join(ROOT, 'node_modules/.bin/node');
  if (!isClone || !existsSync(own)) {
    const how = isClone ? 'run "npm ci" in the clone, which brings one along' : 'install it from https://nodejs.org';
    process.stderr.write(
      `wispr: needs Node.js 24.15 or newer, this is ${process.versions.node}\nwispr: hint: ${how}\n`,
    );
    return 1;
  }
  const { spawn } = await import('node:child_process');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const child = spawn(own, process.argv.slice(1), {
    stdio: 'inherit',
    env: { ...process.env, [PARENT]: `${process.pid}` },
  });
  return new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal])),
  );
}

// Ends with an older Node.js that is the parent, however that ends.
function endWithParent() {
  const parent = Number(process.env[PARENT]);
  delete process.env[PARENT];
  if (parent > 0) setInterval(() => process.ppid !== parent && process.kill(process.pid, 'SIGTERM'), 500).unref();
}

// Saves a third of a second at each start. In the clone, or in the user's own folder, and not where Node.js would put it: other users can write
// to a directory for temporary files, and what is read from here is run. Threads learn of it by the environment. Without it, all goes on, slower.
async function keepCompiledSources() {
  const { enableCompileCache } = await import('node:module');
  const folder = isClone ? join(ROOT, 'node_modules/.cache') : ownCache();
  if (folder !== undefined) process.env.NODE_COMPILE_CACHE ??= join(folder, 'wispr-compiled');
  if (process.env.NODE_COMPILE_CACHE) enableCompileCache();
}

// A relative folder would be one of the directory in which the command runs; a user of a container may have no home at all.
function ownCache() {
  try {
    return [process.env.XDG_CACHE_HOME ?? '', join(homedir(), '.cache')].find((folder) => isAbsolute(folder));
  } catch {
    return undefined;
  }
}

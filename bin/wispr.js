#!/usr/bin/env node
// Plain JavaScript, so that an old Node.js says what it lacks instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.exitCode = await runWithOwnNode();
} else {
  await keepCompiledSources(); // first of all: without it, Node.js loads its compiler for TypeScript
  const { startFrugally } = await import('../cli/start-frugally.ts');
  startFrugally();
  await import('../cli/main.ts');
}

// The version that the project brings along, from whichever directory it is started. A terminal's Ctrl-C reaches it by itself.
async function runWithOwnNode() {
  const { existsSync } = await import('node:fs');
  const { spawn } = await import('node:child_process');
  const { fileURLToPath } = await import('node:url');
  const own = fileURLToPath(new URL('../node_modules/.bin/node', import.meta.url));
  if (!existsSync(own)) {
    process.stderr.write(
      `wispr: needs Node.js 24.15 or newer, this is ${process.versions.node}\n` +
        'wispr: hint: run "npm ci" in the clone, which brings one along\n',
    );
    return 1;
  }
  const child = spawn(own, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}

// Saves a third of a second at each start. Kept with the program's own packages, and not where Node.js would: other users can write to a
// directory for temporary files, and what is read from here is run. Threads learn of it by the environment. Without it, all goes on, slower.
async function keepCompiledSources() {
  const { enableCompileCache } = await import('node:module');
  process.env.NODE_COMPILE_CACHE ??= `${import.meta.dirname}/../node_modules/.cache/wispr-compiled`;
  enableCompileCache();
}

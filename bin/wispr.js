#!/usr/bin/env node
// Plain JavaScript, so that an old Node.js says what it lacks instead of a syntax error.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(
    `wispr: needs Node.js 24.15 or newer, this is ${process.versions.node}\n` +
      'wispr: hint: in a clone, "npx wispr" uses the version that the project brings along\n',
  );
  process.exitCode = 1;
} else {
  await import('../cli/main.ts');
}

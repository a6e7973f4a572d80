// Brings a fresh clone to the point where the command after it can run. Plain JavaScript for the machine's own Node.js
// (20 or newer), because the pinned one arrives with the packages. Speaks on standard error only; fast when done already.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const wants = new Set(process.argv.slice(2));

/** Debian packages by what they are needed for, each with the file that shows it is there. */
const DEBIAN = {
  '--tests': [
    ['squid', '/usr/sbin/squid'],
    ['varnish', '/usr/sbin/varnishd'],
    ['nginx-light', '/usr/sbin/nginx'],
    ['chromium', '/usr/bin/chromium'],
    ['openssl', '/usr/bin/openssl'],
    ['python3-venv', '/usr/bin/python3'],
    ['python3.11-doc', '/usr/share/doc/python3.11/html/index.html'],
    ['debian-handbook', '/usr/share/doc/debian-handbook'],
  ],
  '--bench': [['age', '/usr/bin/age']],
};

function say(text) {
  process.stderr.write(`set-up: ${text}\n`);
}

function run(command, args, options = {}) {
  const done = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2], ...options });
  return done.status === 0;
}

/** Runs `work` only when `inputs` changed since it last succeeded. */
function once(name, inputs, work) {
  const stamp = join(ROOT, 'node_modules', `.set-up-${name}`);
  const digest = createHash('sha256');
  for (const input of inputs) digest.update(readFileSync(join(ROOT, input)));
  const wanted = digest.digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  work();
  writeFileSync(stamp, wanted);
}

function fail(text) {
  say(text);
  process.exit(1);
}

function installPackages() {
  once('npm', ['package-lock.json'], () => {
    say('installing npm packages (npm ci)');
    if (!run('npm', ['ci', '--no-audit', '--no-fund']))
      fail('npm ci failed: see above; is the npm registry reachable?');
  });
}

function installDebianPackages(packages) {
  const missing = packages.filter(([, file]) => !existsSync(file)).map(([name]) => name);
  if (missing.length === 0) return;
  const sudo = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const apt = (...args) => run(...split([...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', ...args]));
  say(`installing Debian packages: ${missing.join(' ')}`);
  // policy-rc.d is not touched: where packages start services, they listen on ports that no test uses.
  if (apt('update', '-q') && apt('install', '-q', '-y', '--no-install-recommends', ...missing)) return;
  say(`could not install ${missing.join(' ')}: the tests that need them will fail, and say so`);
  say(`hint: sudo apt-get install ${missing.join(' ')}`);
}

function split([command, ...args]) {
  return [command, args];
}

/** The second implementation of the formats (tests/second-implementation) is Python, with its own libraries. */
function installPythonPackages() {
  const requirements = 'tests/second-implementation/requirements.txt';
  if (!existsSync(join(ROOT, requirements))) return;
  once('python', [requirements], () => {
    const home = join(ROOT, '.cache', 'python');
    mkdirSync(join(ROOT, '.cache'), { recursive: true });
    say('installing the Python packages of the second implementation');
    const pip = join(home, 'bin', 'pip');
    if (!run('python3', ['-m', 'venv', home])) fail('python3 -m venv failed: install python3 and python3-venv');
    if (!run(pip, ['install', '--quiet', '--require-hashes', '--requirement', requirements]))
      fail('pip install failed');
  });
}

installPackages();
for (const [flag, packages] of Object.entries(DEBIAN)) if (wants.has(flag)) installDebianPackages(packages);
if (wants.has('--tests')) installPythonPackages();

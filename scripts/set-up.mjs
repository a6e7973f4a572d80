// Brings a fresh clone to the point where the command after it can run. Plain JavaScript for the machine's own Node.js
// (20 or newer), because the pinned one is installed with the packages. Speaks on standard error only; fast when done already.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const wants = new Set(process.argv.slice(2));

/** Debian packages by what they are needed for, each with the file that shows it is there, and the service that it would start with the machine. */
const DEBIAN = {
  '--tests': [
    ['squid', '/usr/sbin/squid', 'squid.service'],
    ['varnish', '/usr/sbin/varnishd', 'varnish.service'],
    ['nginx-light', '/usr/sbin/nginx', 'nginx.service'],
    ['apache2-bin', '/usr/sbin/apache2'],
    ['caddy', '/usr/bin/caddy', 'caddy.service'],
    ['haproxy', '/usr/sbin/haproxy', 'haproxy.service'],
    ['lighttpd', '/usr/sbin/lighttpd', 'lighttpd.service'],
    ['trafficserver', '/usr/bin/traffic_server', 'trafficserver.service'],
    ['nsd', '/usr/sbin/nsd', 'nsd.service'],
    ['chromium', '/usr/bin/chromium'],
    ['postgresql-15', '/usr/lib/postgresql/15/bin/postgres', 'postgresql.service'],
    ['openssl', '/usr/bin/openssl'],
    ['curl', '/usr/bin/curl'],
    ['rsync', '/usr/bin/rsync'],
    ['iproute2', '/sbin/ip'],
    ['nftables', '/usr/sbin/nft', 'nftables.service'],
    ['zsync', '/usr/bin/zsync'],
    ['systemd', '/usr/bin/systemd-analyze'],
    ['dbus', '/usr/bin/dbus-run-session'],
    ['gnome-keyring', '/usr/bin/gnome-keyring-daemon'],
    ['python3.11-doc', '/usr/share/doc/python3.11/html/index.html'],
    ['debian-handbook', '/usr/share/doc/debian-handbook/html/en-US/index.html'],
  ],
  '--browsers': [
    ['firefox-esr', '/usr/bin/firefox-esr'],
    ['webkit2gtk-driver', '/usr/bin/WebKitWebDriver'],
    ['xvfb', '/usr/bin/Xvfb'],
    ['openssl', '/usr/bin/openssl'],
  ],
  '--applications': [
    ['ffmpeg', '/usr/bin/ffmpeg'],
    ['seabios', '/usr/share/seabios/bios.bin'],
  ],
  '--monitoring': [['prometheus', '/usr/bin/promtool', 'prometheus.service']],
  '--generators': [
    ['hugo', '/usr/bin/hugo'],
    ['jekyll', '/usr/bin/jekyll'],
  ],
  '--packages': [
    ['lintian', '/usr/bin/lintian'],
    ['debootstrap', '/usr/sbin/debootstrap'],
    ['systemd-container', '/usr/bin/systemd-nspawn'],
  ],
  '--bench': [
    ['sqlite3-doc', '/usr/share/doc/sqlite3/index.html'],
    ['age', '/usr/bin/age'],
    ['nginx-light', '/usr/sbin/nginx', 'nginx.service'],
    ['wrk', '/usr/bin/wrk'],
    ['iputils-ping', '/bin/ping'],
    ['postgresql-15', '/usr/lib/postgresql/15/bin/postgres', 'postgresql.service'],
  ],
};

/**
 * Run by root. Services that are new to the machine are masked for good. Meanwhile a policy keeps packages from starting theirs: no port is taken, and none
 * that is taken matters. Its mark shows a policy that an earlier run has left behind, which was killed.
 * Documentation is unpacked also where the system leaves it out. A package that this system does not have stops no other, and
 * none is removed for another.
 */
const APT_SCRIPT = `
  export DEBIAN_FRONTEND=noninteractive
  policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ] || grep -q 'wispr set-up' $policy; then
    trap 'rm -f $policy' EXIT
    trap 'exit 1' INT TERM
    printf '#!/bin/sh\\n# wispr set-up\\nexit 101\\n' > $policy && chmod 755 $policy
  fi
  mkdir -p /etc/systemd/system
  for unit in $1; do
    [ -e /lib/systemd/system/$unit ] || ln -sn /dev/null /etc/systemd/system/$unit 2>/dev/null
  done
  shift
  install() {
    apt-get install -qq -y --no-install-recommends --no-remove --reinstall -o DPkg::Lock::Timeout=300 \\
      -o DPkg::Options::=--path-include='/usr/share/doc/*' "$@"
  }
  apt-get update -qq -o DPkg::Lock::Timeout=300
  install "$@" || for package in "$@"; do install "$package"; done
`;

function say(text) {
  process.stderr.write(`set-up: ${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}

function run(command, args) {
  // Programs of this folder are left out: they are what is being installed.
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== join(ROOT, 'node_modules', '.bin'));
  const env = { ...process.env, PATH: path.join(delimiter) };
  return spawnSync(command, args, { cwd: ROOT, env, stdio: ['ignore', 2, 2] }).status === 0;
}

/** Does `work`, which makes `product` in `folder`, unless it was done with the same `input` file. */
function once(folder, product, input, work) {
  const stamp = join(ROOT, folder, '.set-up');
  const wanted = createHash('sha256')
    .update(readFileSync(join(ROOT, input)))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted && existsSync(join(ROOT, folder, product))) return;
  work();
  writeFileSync(stamp, wanted);
}

/** Reads npm's own note of what it has installed, which it writes at the end: after `npm ci` nothing is left to do. */
function npmPackagesAreThere() {
  const packagesIn = (file) => JSON.parse(readFileSync(join(ROOT, file), 'utf8')).packages;
  const note = 'node_modules/.package-lock.json';
  if (!existsSync(join(ROOT, note)) || !existsSync(join(ROOT, 'node_modules/.bin/node'))) return false;
  const installed = packagesIn(note);
  // A package from elsewhere than a registry has no integrity: it has to be there all the same.
  const isThere = (path, { version, integrity }) =>
    path in installed && installed[path].version === version && installed[path].integrity === integrity;
  // An optional package is of another platform, or is there as the lock file has it: the pinned Node.js is.
  return Object.entries(packagesIn('package-lock.json')).every(
    ([path, wanted]) => path === '' || (wanted.optional && !(path in installed)) || isThere(path, wanted),
  );
}

function installNpmPackages() {
  once('node_modules', '.bin/node', 'package-lock.json', () => {
    if (npmPackagesAreThere()) return;
    say('installing npm packages (npm ci)');
    const done = run('npm', ['ci', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']);
    if (!done) fail('npm ci failed: see above; is the npm registry reachable?');
    if (!existsSync(join(ROOT, 'node_modules/.bin/node')))
      fail(`no pinned Node.js for ${process.platform} on ${process.arch}: see optionalDependencies in package.json`);
  });
}

/** Builds what the key server serves to browsers. Made anew each time: it takes less than to find out whether a source has changed. */
function buildWebReader() {
  const script = 'scripts/build-web-reader.ts';
  if (!existsSync(join(ROOT, script)) || run(join(ROOT, 'node_modules/.bin/node'), [script, '--quiet'])) return;
  fail('the in-browser reader cannot be built: see above');
}

function installDebianPackages(packages) {
  const absent = packages.filter(([, file]) => !existsSync(file));
  if (absent.length > 0) apt(absent);
  const left = absent.filter(([, file]) => !existsSync(file)).map(([name]) => name);
  if (left.length === 0) return;
  say(`could not install ${left.join(' ')}: the tests that need them will fail, and say so`);
  say(`hint: sudo apt-get install ${left.join(' ')}`);
}

function apt(packages) {
  if (!existsSync('/usr/bin/apt-get')) return;
  const names = packages.map(([name]) => name);
  const services = packages.flatMap(([, , service]) => service ?? []).join(' ');
  say(`installing Debian packages: ${names.join(' ')}`);
  if (services !== '') say(`masking what is new of ${services}: to use one, sudo systemctl unmask NAME`);
  const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];
  const [command, ...args] = [...asRoot, 'sh', '-c', APT_SCRIPT, 'sh', services, ...names];
  run(command, args);
}

/** Programs in Python, each in an environment of its own with its own libraries. */
const PYTHON = {
  '--bench': [
    ['mitmproxy', 'bench/mitmproxy/requirements.txt', '.cache/mitmproxy'],
    ['the figure of batch RSA', 'evaluation/scream/requirements.txt', '.cache/batch-rsa'],
  ],
  '--generators': ['mkdocs', 'sphinx'].map((name) => {
    return [name, `tests/generators/${name}/requirements.txt`, `.cache/generators/${name}`];
  }),
  '--applications': [['applications', 'tests/applications/requirements.txt', '.cache/applications/python']],
  '--tests': [
    ['the second implementation', 'tests/second-implementation/requirements.txt', '.cache/python'],
    ['the S3 server of the tests', 'tests/support/s3-server/requirements.txt', '.cache/s3-server'],
  ],
};

function installPythonPackages([what, requirements, folder]) {
  if (!existsSync(join(ROOT, requirements))) return;
  once(folder, 'bin/python3', requirements, () => {
    say(`installing the Python packages of ${what}`);
    if (findPython() === undefined) apt([['python3-venv']]);
    const python = findPython();
    if (python === undefined) fail('no python3 here can make virtual environments: install python3-venv');
    if (!run(python, ['-m', 'venv', '--clear', folder])) fail('python3 -m venv failed: see above');
    const pip = ['-m', 'pip', 'install', '--quiet', '--require-hashes', '--requirement', requirements];
    if (!run(join(ROOT, folder, 'bin/python3'), pip)) fail('pip install failed: see above; is PyPI reachable?');
  });
}

/** A Python that has what `python -m venv` needs: Debian leaves it out of `python3`. */
function findPython() {
  return ['python3', '/usr/bin/python3'].find(
    (python) => spawnSync(python, ['-c', 'import ensurepip, venv'], { stdio: 'ignore' }).status === 0,
  );
}

/**
 * The HTTP caching tests, of which only their own files are used: as a package of ours they would bring another npm and what that needs,
 * four hundred packages for three programs that do not run here.
 */
function unpackCacheTests() {
  const [pinned, folder] = ['tests/release/caches/cache-tests/pinned.json', '.cache/http-cache-tests'];
  once(folder, 'package/client/runner.mjs', pinned, () => {
    const { package: name, version, integrity } = JSON.parse(readFileSync(join(ROOT, pinned), 'utf8'));
    say(`fetching ${name} ${version}`);
    mkdirSync(join(ROOT, folder), { recursive: true });
    if (!run('npm', ['pack', `${name}@${version}`, '--pack-destination', folder, '--loglevel=error']))
      fail('npm pack failed: see above; is the npm registry reachable?');
    const file = join(ROOT, folder, `${name}-${version}.tgz`);
    const found = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
    if (found !== integrity) fail(`${name} ${version} is not the one that was pinned: ${found}`);
    if (!run('tar', ['-xzf', file, '-C', folder])) fail('tar failed: see above');
  });
}

/** Packages of npm that are no dependency of wispr, each in a folder of its own: what is to be there, and where its lock file is. */
const NPM = {
  '--tests': [['serve', 'tests/support/static-server', '.cache/static-server']],
  '--applications': [['hls.js', 'tests/applications', '.cache/applications']],
  '--generators': Object.entries({
    ...{ astro: 'astro', docusaurus: '@docusaurus/core', eleventy: '@11ty/eleventy' },
    ...{ next: 'next', vitepress: 'vitepress' },
  }).map(([folder, name]) => {
    return [name, `tests/generators/${folder}`, `.cache/generators/${folder}`];
  }),
};

function installNpmFolder([name, pinned, folder]) {
  if (!existsSync(join(ROOT, pinned))) return;
  once(folder, `node_modules/${name}/package.json`, `${pinned}/package-lock.json`, () => {
    say(`installing ${name} for the tests`);
    mkdirSync(join(ROOT, folder), { recursive: true });
    for (const file of [`${pinned}/package.json`, `${pinned}/package-lock.json`, '.npmrc'])
      copyFileSync(join(ROOT, file), join(ROOT, folder, basename(file)));
    const place = realpathSync(join(ROOT, folder)); // npm knows no package behind a link
    const done = run('npm', ['ci', '--prefix', place, '--ignore-scripts', '--no-update-notifier', '--loglevel=error']);
    if (!done) fail('npm ci failed: see above; is the npm registry reachable?');
  });
}

if (Number(process.versions.node.split('.')[0]) < 20) fail(`needs Node.js 20 or newer, this is ${process.version}`);
// Run by npm at the end of `npm ci`; without packages for development, as with NODE_ENV=production, it cannot be built.
if (wants.has('--web-reader')) {
  if (existsSync(join(ROOT, 'node_modules/esbuild'))) buildWebReader();
  process.exit();
}
installNpmPackages();
buildWebReader();
for (const [flag, packages] of Object.entries(DEBIAN)) if (wants.has(flag)) installDebianPackages(packages);
for (const [flag, environments] of Object.entries(PYTHON))
  if (wants.has(flag)) for (const environment of environments) installPythonPackages(environment);
for (const [flag, folders] of Object.entries(NPM))
  if (wants.has(flag)) for (const folder of folders) installNpmFolder(folder);
if (wants.has('--tests')) unpackCacheTests();

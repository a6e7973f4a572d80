/**
 * `npm run build:deb [-- --arch amd64|arm64] [DIR]`: the Debian package, made of what `npm pack` packs, of its dependencies and optional peers in the
 * versions of the lock file, and of the pinned Node.js. The same sources give the same bytes.
 */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import packageJson from '../package.json' with { type: 'json' };
import runtime from '../runtime/package.json' with { type: 'json' };
import { hasLicence, licencesOf } from './licenses.ts';
import { everyCommand, manual } from './manual.ts';

const ROOT = join(import.meta.dirname, '..');
const SOURCE = join(ROOT, 'packaging/debian');
/** Names of npm, by those of Debian. */
const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' } as const;
type Architecture = keyof typeof ARCHITECTURES;
/** Files that nothing loads when the program runs. */
const LEFT_OUT = '**/{*.{map,ts,mts,cts,html,sh},.*}';
const SCRIPTS = ['postinst', 'prerm', 'postrm'];
const EXECUTABLE = ['usr/bin/wispr', 'usr/lib/wispr/node'];

/** @param out - the folder that it is put into @returns its file @throws Error of npm or dpkg-deb */
export async function buildDeb(architecture: Architecture, out: string): Promise<string> {
  const time = Number(process.env.SOURCE_DATE_EPOCH ?? run('git', ['log', '-1', '--format=%ct'], ROOT));
  const work = mkdtempSync(join(tmpdir(), 'wispr-deb-'));
  try {
    const root = join(work, 'root');
    const program = join(root, 'usr/lib/wispr');
    mkdirSync(program, { recursive: true });
    unpackProgram(work, program);
    const licences = installPackages(architecture, join(work, 'npm'), program);
    copyFiles(root);
    await writeDocumentation(root, licences, time);
    writeControl(root, architecture);
    setRightsAndTimes(root, time);
    mkdirSync(out, { recursive: true });
    const file = join(out, `wispr_${packageJson.version}_${architecture}.deb`);
    const compression = ['-Zxz', '-z2', '--threads-max=1']; // threads would give other bytes
    run('dpkg-deb', ['--root-owner-group', ...compression, '--build', root, file], ROOT, {
      SOURCE_DATE_EPOCH: `${time}`,
    });
    return file;
  } finally {
    rmSync(work, { recursive: true });
  }
}

function unpackProgram(work: string, program: string): void {
  run('npm', ['pack', '--loglevel=error', '--pack-destination', work], ROOT);
  const [tarball = ''] = globSync('*.tgz', { cwd: work });
  run('tar', ['-xzf', tarball, '--strip-components=1', '-C', program], work);
}

/** @returns the licences of what was installed */
function installPackages(architecture: Architecture, work: string, program: string): string {
  const node = `node-linux-${ARCHITECTURES[architecture]}` as const;
  mkdirSync(work);
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const own = {
    name: 'wispr-debian',
    version: packageJson.version,
    dependencies: { ...packageJson.dependencies, ...pinnedPeers() },
    optionalDependencies: { [node]: runtime.optionalDependencies[node] }, // npm takes another architecture only as an option
  };
  // npm removes what is in the lock file and not needed by these.
  const packages = Object.entries<{ link?: boolean }>(lock.packages).filter(
    ([path, { link }]) => path.includes('node_modules/') && !link,
  );
  writeFileSync(join(work, 'package.json'), JSON.stringify(own));
  const locked = { ...lock, name: own.name, packages: { '': own, ...Object.fromEntries(packages) } };
  writeFileSync(join(work, 'package-lock.json'), JSON.stringify(locked));
  const target = [`--cpu=${ARCHITECTURES[architecture]}`, '--os=linux', '--libc=glibc'];
  run('npm', ['ci', '--ignore-scripts', '--no-bin-links', '--loglevel=error', ...target], work);

  const modules = join(work, 'node_modules');
  const folders = globSync(['**/node_modules/*/package.json', '**/node_modules/@*/*/package.json'], { cwd: work })
    .map((file) => relative(ROOT, join(work, dirname(file))))
    .sort();
  const licences = licencesOf(folders.filter(hasLicence)) + named(folders.filter((each) => !hasLicence(each)));
  renameSync(join(modules, node, 'bin/node'), join(program, 'node'));
  for (const file of [node, '.package-lock.json', ...globSync(LEFT_OUT, { cwd: modules })])
    rmSync(join(modules, file), { recursive: true, force: true });
  renameSync(modules, join(program, 'node_modules'));
  return licences;
}

/** Lists the optional peers, in the versions that this clone is tested with. */
function pinnedPeers(): Record<string, string> {
  const versions: Readonly<Record<string, string>> = packageJson.devDependencies;
  return Object.fromEntries(Object.keys(packageJson.peerDependencies).map((name) => [name, versions[name] ?? '']));
}

/** Packages without a text: their licences by name. */
function named(folders: readonly string[]): string {
  const lines = folders.map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
    return `${name} ${version}: ${license}\n`;
  });
  return `${'-'.repeat(80)}\n\nWithout a text of their own:\n\n${lines.join('')}`;
}

function copyFiles(root: string): void {
  const copies = {
    wispr: 'usr/bin/wispr',
    system: 'lib/systemd/system',
    user: 'usr/lib/systemd/user',
    'keyserver.json': 'usr/share/doc/wispr/examples/keyserver.json',
    copyright: 'usr/share/doc/wispr/copyright',
    'lintian-overrides': 'usr/share/lintian/overrides/wispr',
  };
  for (const [from, to] of Object.entries(copies)) cpSync(join(SOURCE, from), join(root, to), { recursive: true });
}

async function writeDocumentation(root: string, licences: string, time: number): Promise<void> {
  const write = (path: string, content: string | Uint8Array) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  };
  for (const [name, text] of manual(await everyCommand())) {
    if (name === 'wispr.bash') write('usr/share/bash-completion/completions/wispr', text);
    else if (name === '_wispr') write('usr/share/zsh/vendor-completions/_wispr', text);
    else write(`usr/share/man/man1/${name}.gz`, gzipSync(text, { level: 9 }));
  }
  write('usr/share/doc/wispr/licenses.txt.gz', gzipSync(licences, { level: 9 }));
  write('usr/share/doc/wispr/changelog.gz', gzipSync(changelog(time), { level: 9 }));
  write('usr/share/doc/wispr/CHANGELOG.md.gz', gzipSync(readFileSync(join(ROOT, 'CHANGELOG.md')), { level: 9 }));
}

function changelog(time: number): string {
  const [, maintainer] = /^Maintainer: (.*)$/m.exec(readFileSync(join(SOURCE, 'control'), 'utf8')) ?? [];
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000');
  return `wispr (${packageJson.version}) stable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- ${maintainer}  ${date}\n`;
}

function writeControl(root: string, architecture: Architecture): void {
  const files = filesIn(root);
  const size = files.reduce((sum, file) => sum + Math.ceil(lstatSync(join(root, file)).size / 1024), 0);
  const folder = join(root, 'DEBIAN');
  mkdirSync(folder);
  const control = readFileSync(join(SOURCE, 'control'), 'utf8')
    .replace('@VERSION@', packageJson.version)
    .replace('@ARCH@', architecture)
    .replace('@SIZE@', `${size}`);
  writeFileSync(join(folder, 'control'), control);
  const sums = files.map((file) => `${hash('md5', readFileSync(join(root, file)))}  ${file}\n`);
  writeFileSync(join(folder, 'md5sums'), sums.join(''));
  for (const name of SCRIPTS) cpSync(join(SOURCE, name), join(folder, name));
}

/** Rights and times that do not depend on who built, and when. */
function setRightsAndTimes(root: string, time: number): void {
  const executable = [...EXECUTABLE, ...SCRIPTS.map((name) => `DEBIAN/${name}`)];
  const entries = readdirSync(root, { recursive: true, encoding: 'utf8' });
  for (const path of [...entries, '.']) {
    const full = join(root, path);
    chmodSync(full, lstatSync(full).isDirectory() || executable.includes(path) ? 0o755 : 0o644);
    utimesSync(full, time, time);
  }
}

function filesIn(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries.flatMap((each) => (each.isFile() ? [relative(root, join(each.parentPath, each.name))] : [])).sort();
}

function run(command: string, args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}): string {
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  return execFileSync(command, args, { cwd, stdio: [...stdio], env: { ...process.env, ...more }, encoding: 'utf8' });
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { arch: { type: 'string', default: process.arch === 'arm64' ? 'arm64' : 'amd64' } },
  });
  const { arch } = values;
  if (arch !== 'amd64' && arch !== 'arm64') throw new Error(`--arch takes amd64 or arm64, and not ${arch}`);
  process.stdout.write(`${await buildDeb(arch, resolve(positionals[0] ?? join(ROOT, 'dist')))}\n`);
}

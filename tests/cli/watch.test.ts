/**
 * `wispr protect --watch` on real directories: whatever names lead to by now, a change is noticed, and shows in what is published. And documents
 * that vanish, with `--watch` and without.
 */
import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parse } from 'jsonc-parser';
import { expect, test, vi } from 'vitest';
import type { Removal } from '../../publisher/protect/removal.ts';
import { watchSite } from '../../publisher/protect/watch.ts';
import { publicationAt } from '../support/publishing.ts';
import { runOnTerminal, runWispr, startInProcess } from '../support/wispr.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const PATIENCE = { timeout: 15_000, interval: 20 };
const SETTINGS = { fallback: { template: 'teaser.eta' } };

/** A workspace that is watched. */
class Rig {
  readonly workspace: TestWorkspace;
  #running: Awaited<ReturnType<typeof startInProcess>> | undefined;

  constructor(workspace: TestWorkspace) {
    this.workspace = workspace;
  }

  readonly at = (path: string) => join(this.workspace.directory, path);

  readonly watch = async (command = 'protect', ...more: string[]) => {
    const args = [command, '--watch', '-c', this.at('wispr.json'), '--passphrase-file', this.at('passphrase'), ...more];
    this.#running = await startInProcess(args);
    await this.hasSaid('watching ');
  };

  readonly hasSaid = (text: string) => vi.waitFor(() => expect(this.#running?.stderr()).toContain(text), PATIENCE);

  /** Number of documents that were protected, each time. */
  readonly documents = (): number[] => {
    const lines = this.#running?.stdout().trim().split('\n') ?? [];
    return lines.map((line) => JSON.parse(line).documents);
  };

  readonly hasDocuments = (count: number) => vi.waitFor(() => expect(this.documents().at(-1)).toBe(count), PATIENCE);

  /** Saves as editors and `sed -i` do. */
  readonly replace = async (path: string, content: string) => {
    await writeFile(this.at(`${path}.new`), content);
    await rename(this.at(`${path}.new`), this.at(path));
  };

  readonly configured = async (settings: object) =>
    JSON.stringify({ ...parse(await readFile(this.at('wispr.json'), 'utf8')), ...settings });

  async end(): Promise<void> {
    const ended = await this.#running?.stop();
    if (ended) expect(ended).toMatchObject({ code: 0 });
    await this.workspace.remove();
  }
}

function template(word: string): string {
  const robots =
    '<% for (const [name, content] of it.robots) { %><meta name="<%= name %>" content="<%= content %>"><% } %>';
  return `<!doctype html><title><%= it.title %></title>${robots}<p>${word}</p><a id="read" href="<%= it.reading %>">Read</a><script><%~ it.script %></script>`;
}

/** Runs tests at once, since most of the time is spent waiting for the quiet after a change. */
const it = test.extend<{ rig: Rig }>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the pattern
  rig: async ({}, use) => {
    const workspace = await createWorkspace({ 'index.html': '<title>A page</title>', 'deep/b.txt': 'b' }, SETTINGS);
    const rig = new Rig(workspace);
    await writeFile(rig.at('teaser.eta'), template('first'));
    await writeFile(rig.at('passphrase'), PASSPHRASE, { mode: 0o600 });
    await use(rig);
    await rig.end();
  },
}).concurrent;

it('publishes after each change as well, to wherever wispr.json says by then', async ({
  rig: { workspace, at, watch, hasSaid, replace, configured },
}) => {
  const shows = (place: string, publication: number) =>
    vi.waitFor(async () => expect(await publicationAt(at(place))).toBe(publication), PATIENCE);
  await replace('wispr.json', await configured({ publish: 'web' }));
  await watch('publish', '--yes');
  await shows('web', 1);
  await workspace.write('after.txt', 'a');
  await shows('web', 2);
  const both = await configured({ publish: ['web', 'mirror'] });
  await replace('wispr.json', '{');
  await hasSaid('still watching');
  await replace('wispr.json', both);
  await shows('mirror', 2);
});

it('goes on when the source is removed and made anew', async ({ rig: { workspace, at, watch, hasDocuments } }) => {
  await cp(workspace.source, at('kept'), { recursive: true });
  await watch();
  await rm(workspace.source, { recursive: true });
  await cp(at('kept'), workspace.source, { recursive: true });
  await workspace.write('after.txt', 'a');
  await hasDocuments(3);
  await workspace.write('deep/later.txt', 'l');
  await hasDocuments(4);
});

it('follows a source that is a link to wherever it leads', async ({ rig: { workspace, at, watch, hasDocuments } }) => {
  await rename(workspace.source, at('release-1'));
  await cp(at('release-1'), at('release-2'), { recursive: true });
  await writeFile(at('release-2/new.txt'), 'n');
  await symlink('release-1', workspace.source);
  await watch();
  await symlink('release-2', at('next'));
  await rename(at('next'), workspace.source);
  await hasDocuments(3);
  await workspace.write('deep/later.txt', 'l');
  await hasDocuments(4);
});

it('goes on when a directory in the source is removed and made anew', async ({
  rig: { workspace, at, watch, hasDocuments },
}) => {
  await cp(at('site/deep'), at('kept'), { recursive: true });
  await watch();
  await rm(at('site/deep'), { recursive: true });
  await cp(at('kept'), at('site/deep'), { recursive: true });
  await workspace.write('deep/deeper/c.txt', 'c');
  await hasDocuments(3);
  await workspace.write('deep/deeper/d.txt', 'd');
  await hasDocuments(4);
});

it('notices every change of wispr.json, and its repair', async ({
  rig: { at, watch, hasSaid, hasDocuments, replace, configured },
}) => {
  const before = await readFile(at('wispr.json'), 'utf8');
  const ignoring = await configured({ ignore: ['deep/**'] });
  await replace('wispr.json', ignoring);
  await watch();
  await hasDocuments(1);
  await replace('wispr.json', before);
  await hasDocuments(2);
  await replace('wispr.json', '{');
  await hasSaid('[configuration-invalid]');
  await replace('wispr.json', ignoring);
  await hasDocuments(1);
});

it('watches the source that wispr.json names now', async ({
  rig: { workspace, at, watch, hasDocuments, replace, configured },
}) => {
  await cp(workspace.source, at('other'), { recursive: true });
  await writeFile(at('other/new.txt'), 'n');
  await watch();
  await replace('wispr.json', await configured({ source: 'other' }));
  await hasDocuments(3);
  await writeFile(at('other/deep/later.txt'), 'l');
  await hasDocuments(4);
});

it('outlives a source whose links lead in a circle', async ({
  rig: { workspace, at, watch, hasSaid, hasDocuments },
}) => {
  await mkdir(at('kept'));
  await rename(workspace.source, at('kept/site'));
  await symlink('kept/site', workspace.source);
  await watch();
  await symlink('site', at('circle'));
  await rename(at('circle'), workspace.source);
  await hasSaid('still watching');
  await rm(workspace.source);
  await symlink('kept/site', workspace.source);
  await workspace.write('deep/later.txt', 'l');
  await hasDocuments(3);
});

it('publishes no part of a site whose folder a generator has cleared, and fills slowly', async ({
  rig: { workspace, watch, documents, hasDocuments },
}) => {
  const pages = ['index.html', 'deep/b.txt', 'c.txt', 'd.txt'];
  for (const page of pages) await workspace.write(page, page);
  await watch();
  for (const page of pages.slice(1)) await rm(join(workspace.source, page));
  for (const page of [...pages, 'new.txt']) {
    await setTimeout(400); // milliseconds: more than the quiet after which a change is published
    await workspace.write(page, `${page} again`);
  }
  await hasDocuments(5);
  expect(Math.min(...documents())).toBe(4);
});

test('documents that vanish in numbers are asked for on a terminal, and refused without', async () => {
  const pages = Array.from({ length: 40 }, (_, index) => [`${index}.txt`, 'x'] as const);
  const workspace = await createWorkspace(Object.fromEntries(pages));
  const cwd = workspace.directory;
  await writeFile(join(cwd, 'passphrase'), PASSPHRASE, { mode: 0o600 });
  const args = ['protect', '--passphrase-file', 'passphrase'];
  const documents = async () => (await workspace.published()).paths.length;
  const remove = async (first: number, end: number) => {
    for (const [path] of pages.slice(first, end)) await rm(join(workspace.source, path));
  };
  await workspace.configure({ removalPercent: 25 });
  await workspace.protect();
  await remove(0, 10);
  expect(await runWispr(args, { cwd })).toMatchObject({ code: 0 });
  await remove(10, 20);
  const gone = '10 of 30 documents are gone from the site: /10.txt, /11.txt, /12.txt, /13.txt, /14.txt, and 5 more';
  const stderr = expect.stringContaining(`${gone}; nothing was changed [removal-unconfirmed]`);
  expect(await runWispr(args, { cwd })).toMatchObject({ code: 1, stderr });
  expect(await runOnTerminal(args, [['for readers?', 'n\n']], { cwd })).toMatchObject({ code: 2 });
  expect(await documents()).toBe(30);
  expect(await runOnTerminal(args, [['for readers?', 'y\n']], { cwd })).toMatchObject({ code: 0 });
  expect(await documents()).toBe(20);
  await remove(20, 31);
  expect(await runWispr([...args, '--watch'], { cwd })).toMatchObject({ code: 1 });
  expect(await runWispr([...args, '--allow-removal'], { cwd })).toMatchObject({ code: 0 });
  await remove(31, 39);
  expect(await runWispr(args, { cwd })).toMatchObject({ code: 0 }); // removals this few are allowed on any site
  expect(await documents()).toBe(1);
  await workspace.remove();
});

test('files with new hashes in their names are no removal, pages that go are, and so is a site emptied of files', async () => {
  const files = (name: string) =>
    Object.fromEntries(Array.from({ length: 12 }, (_, n) => [name.replace('*', `${n}`), 'x']));
  const workspace = await createWorkspace({ ...files('*.aaaa.js'), ...files('*.html') });
  const protect = async () => {
    let isLarge: boolean | undefined;
    const onRemoval = async (removal: Removal) => {
      isLarge = removal.isLarge;
    };
    await workspace.protect({ onRemoval });
    return isLarge;
  };
  const replace = async (name: string, by: string) => {
    for (const path of Object.keys(files(name))) await rm(join(workspace.source, path));
    for (const path of Object.keys(files(by))) await workspace.write(path, 'x');
  };
  await protect();
  await replace('*.aaaa.js', '*.bbbb.js');
  expect(await protect()).toBe(false);
  for (let n = 0; n < 120; n++) await workspace.write(`photographs/${n}.js`, 'x');
  expect(await protect()).toBeUndefined();
  await replace('*.html', '*.js');
  expect(await protect()).toBe(true);
  await rm(join(workspace.source, 'photographs'), { recursive: true });
  expect(await protect()).toBe(true);
  await workspace.remove();
});

it('misses nothing that changes during the first time', async ({ rig: { workspace } }) => {
  const ending = new AbortController();
  const find = async () => ({ directory: workspace.source, files: [] });
  const done: number[] = [];
  const work = async (times: number) => {
    done.push(times);
    if (times === 0) await workspace.write('deep/b.txt', 'changed');
    else ending.abort();
    return true;
  };
  await watchSite(find, ending.signal, work);
  expect(done).toEqual([0, 1]);
});

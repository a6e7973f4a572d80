/** `wispr protect --watch` on real directories: whatever names lead to by now, a change is noticed, and shows in what is published. */
import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'jsonc-parser';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { watchSite } from '../../publisher/protect/watch.ts';
import { type RunningProgram, startProgram } from '../support/programs.ts';
import { publicationAt } from '../support/publishing.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const PATIENCE = { timeout: 60_000, interval: 20 };
const SETTINGS = { fallback: { template: 'teaser.eta' } };

let workspace: TestWorkspace;
let running: RunningProgram | undefined;
const at = (path: string) => join(workspace.directory, path);

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': '<title>A page</title>', 'deep/b.txt': 'b' }, SETTINGS);
  await writeFile(at('teaser.eta'), template('first'));
  await writeFile(at('passphrase'), PASSPHRASE, { mode: 0o600 });
});
afterEach(async () => {
  const ended = await running?.stop('SIGINT');
  running = undefined;
  if (ended) expect(ended).toMatchObject({ code: 0 });
  await workspace.remove();
});

async function watch(...command: string[]): Promise<void> {
  const [name = 'protect', ...more] = command;
  running = startProgram('bin/wispr.js', [name, '--watch', '--json', '--passphrase-file', 'passphrase', ...more], {
    cwd: workspace.directory,
  });
  await hasSaid('watching ');
}

const hasSaid = (text: string) => vi.waitFor(() => expect(running?.stderr()).toContain(text), PATIENCE);

/** How many documents were protected last. */
function documents(): number {
  return JSON.parse(running?.stdout().trim().split('\n').at(-1) ?? '').documents;
}

const hasDocuments = (count: number) => vi.waitFor(() => expect(documents()).toBe(count), PATIENCE);

/** As editors and `sed -i` save. */
async function replace(path: string, content: string): Promise<void> {
  await writeFile(at(`${path}.new`), content);
  await rename(at(`${path}.new`), at(path));
}

async function configured(settings: object): Promise<string> {
  return JSON.stringify({ ...parse(await readFile(workspace.configurationFile, 'utf8')), ...settings });
}

function template(word: string): string {
  return `<!doctype html><title><%= it.title %></title><p>${word}</p><a id="read" href="<%= it.reading %>">Read</a><script><%~ it.script %></script>`;
}

it('publishes after each change as well, to wherever wispr.json says by then', async () => {
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

it('goes on when the source is removed and made anew', async () => {
  await cp(workspace.source, at('kept'), { recursive: true });
  await watch();
  await rm(workspace.source, { recursive: true });
  await cp(at('kept'), workspace.source, { recursive: true });
  await workspace.write('after.txt', 'a');
  await hasDocuments(3);
  await workspace.write('deep/later.txt', 'l');
  await hasDocuments(4);
});

it('goes on when the source is away for a while', async () => {
  await watch();
  await rename(workspace.source, at('elsewhere'));
  await hasSaid('[source-refused]');
  await hasSaid('still watching');
  await rename(at('elsewhere'), workspace.source);
  await workspace.write('after.txt', 'a');
  await hasDocuments(3);
  await workspace.write('deep/later.txt', 'l');
  await hasDocuments(4);
});

it('follows a source that is a link to wherever it leads', async () => {
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

it('goes on when a directory in the source is removed and made anew', async () => {
  await cp(at('site/deep'), at('kept'), { recursive: true });
  await watch();
  await rm(at('site/deep'), { recursive: true });
  await cp(at('kept'), at('site/deep'), { recursive: true });
  await workspace.write('deep/deeper/c.txt', 'c');
  await hasDocuments(3);
  await workspace.write('deep/deeper/d.txt', 'd');
  await hasDocuments(4);
});

it('notices every change of wispr.json, and its repair', async () => {
  const before = await readFile(workspace.configurationFile, 'utf8');
  const ignoring = await configured({ ignore: ['deep/**'] });
  await watch();
  await replace('wispr.json', ignoring);
  await hasDocuments(1);
  await replace('wispr.json', before);
  await hasDocuments(2);
  await replace('wispr.json', '{');
  await hasSaid('[configuration-invalid]');
  await replace('wispr.json', ignoring);
  await hasDocuments(1);
});

it('watches the source that wispr.json names now', async () => {
  await cp(workspace.source, at('other'), { recursive: true });
  await writeFile(at('other/new.txt'), 'n');
  await watch();
  await replace('wispr.json', await configured({ source: 'other' }));
  await hasDocuments(3);
  await writeFile(at('other/deep/later.txt'), 'l');
  await hasDocuments(4);
});

it('notices every change of the template outside the source', async () => {
  const showsWord = (word: string) =>
    vi.waitFor(async () => expect(await readFile(at('protected/index.html'), 'utf8')).toContain(word), PATIENCE);
  await watch();
  await writeFile(at('teaser.eta'), template('second'));
  await showsWord('second');
  await replace('teaser.eta', template('third'));
  await showsWord('third');
  await rm(at('teaser.eta'));
  await hasSaid('[configuration-invalid]');
  await writeFile(at('teaser.eta'), template('fourth'));
  await showsWord('fourth');
});

it('outlives a source whose links lead in a circle', async () => {
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

it('outlives a link in the source that leads nowhere', async () => {
  await watch();
  await symlink('loop', at('site/loop'));
  await hasSaid('[source-refused]');
  await rm(at('site/loop'));
  await workspace.write('deep/later.txt', 'l');
  await hasDocuments(3);
});

it('misses nothing that changes during the first time', async () => {
  const ending = new AbortController();
  const find = async () => ({ directory: workspace.source, files: [] });
  const done: number[] = [];
  const work = async (times: number) => {
    done.push(times);
    if (times === 0) await workspace.write('deep/b.txt', 'changed');
    else ending.abort();
  };
  await watchSite(find, ending.signal, work);
  expect(done).toEqual([0, 1]);
});

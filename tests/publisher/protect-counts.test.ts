/** Report of a run on its output: how much it holds, what waits there to be removed, and why documents changed whose sources did not. */
import { rm } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
afterEach(() => workspace.remove());

const NOW = Math.floor(Date.now() / 1000);
const page = (title: string) => `<title>${title}</title><p>Rest`;

describe('why documents changed whose sources did not', () => {
  it('is said by a run, and by a dry run before it', async () => {
    workspace = await createWorkspace({ 'a.html': page('a'), 'b.txt': 'b', 'c.txt': 'c' });
    await workspace.protect({ now: NOW });
    const look = () => workspace.plan(NOW + 1);
    expect(await look()).toMatchObject({ reasons: { remade: 0, restored: 0 }, settingsChanged: false });
    await workspace.write('c.txt', 'another');
    await rm(await workspace.objectFile('/a.html'));
    await workspace.configure({ headers: [{ path: 'b.txt', set: { 'Content-Language': 'de' } }] });
    const expected = { changes: { changed: 3 }, reasons: { remade: 1, restored: 1 } };
    expect(await look()).toMatchObject({ ...expected, settingsChanged: false });
    expect(await workspace.protect({ now: NOW + 1 })).toMatchObject(expected);
    await workspace.configure({ cleanUrls: true });
    expect(await look()).toMatchObject({ changes: { changed: 0 }, settingsChanged: true });
    const { publication } = await workspace.protect({ now: NOW + 2 });
    expect(publication).toMatchObject({ isNew: true, reasons: ['settings'] });
    expect(await look()).toMatchObject({ settingsChanged: false });
  });
});

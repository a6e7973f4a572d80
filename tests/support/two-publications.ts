/** A small site of every kind of document, as two publications one after the other. */
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createWorkspace, type TestWorkspace } from './workspace.ts';

const page = (text: string) => `<!doctype html><title>A page</title><p data-wispr-excerpt>${text}</p><p>Rest.</p>`;

export interface TwoPublications {
  readonly workspace: TestWorkspace;
  /** Copies of `out`, as it was after each. */
  readonly first: string;
  readonly second: string;
}

export async function makeTwoPublications(): Promise<TwoPublications> {
  const files: Record<string, string | Uint8Array> = { 'style.css': 'p { color: red }', 'gone.html': page('Gone.') };
  for (let number = 1; number <= 6; number++) files[`news/${number}.html`] = page(`News ${number}.`);
  files['large.bin'] = Buffer.alloc(300_000, 7);
  const workspace = await createWorkspace(files, { public: ['style.css', 'news/6.html'] });
  await workspace.protect();
  const [first, second] = [`${workspace.out}.first`, `${workspace.out}.second`];
  await cp(workspace.out, first, { recursive: true, preserveTimestamps: true });
  await workspace.write('news/1.html', page('Newer.'));
  await workspace.write('news/6.html', page('Newer as well.'));
  await workspace.write('style.css', 'p { color: blue }');
  await workspace.write('news/7.html', page('The newest.'));
  await rm(join(workspace.source, 'gone.html'));
  await workspace.protect();
  await cp(workspace.out, second, { recursive: true, preserveTimestamps: true });
  return { workspace, first, second };
}

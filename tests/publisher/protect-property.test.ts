/** The publication is that of the site as it is, whatever happens to the site between two runs, and to the runs. */
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { verifyTree } from '../../publisher/verify/verify.ts';
import type { TrustedStore } from '../support/published.ts';
import { runs } from '../support/tier.ts';
import { contentOf, createWorkspace, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
let freshKeys: Buffer;
afterEach(() => workspace.remove());

const NAMES = ['a.html', 'b.html', 'c.txt', 'deep/d.html', 'deep/er/e.css', 'f.bin'] as const;
const SETS = ['subscribers', 'gold', 'public'] as const;

/** A thing that happens. */
type Step =
  | { readonly kind: 'write'; readonly name: (typeof NAMES)[number]; readonly text: string; readonly set: string }
  | { readonly kind: 'remove'; readonly name: (typeof NAMES)[number] }
  | { readonly kind: 'protect' }
  | { readonly kind: 'rekey'; readonly set: string }
  /** A run stops after some documents. */
  | { readonly kind: 'stop'; readonly after: number }
  | { readonly kind: 'lose index' }
  /** A file of the output vanishes. */
  | { readonly kind: 'lose file'; readonly which: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        kind: fc.constant('write' as const),
        name: fc.constantFrom(...NAMES),
        text: fc.constantFrom('one', 'two', 'three'.repeat(300)),
        set: fc.constantFrom(...SETS),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), name: fc.constantFrom(...NAMES) }) },
    { weight: 4, arbitrary: fc.constant({ kind: 'protect' as const }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('rekey' as const), set: fc.constantFrom('subscribers', 'gold') }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('stop' as const), after: fc.integer({ min: 0, max: 6 }) }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'lose index' as const }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('lose file' as const), which: fc.nat(1000) }) },
  ),
  { minLength: 1, maxLength: 10 },
);

/** A page that was in clear, and is not any more. */
const PUBLIC_NO_MORE: Step[] = [
  { kind: 'write', name: 'b.html', text: 'one', set: 'public' },
  { kind: 'protect' },
  { kind: 'write', name: 'b.html', text: 'one', set: 'gold' },
];

it('any changes, stops and losses end in the publication of the site', async () => {
  workspace = await createWorkspace();
  freshKeys = await readFile(join(workspace.directory, 'publisher.keys'));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('beside' as const, 'html' as const), steps, async (carrier, sequence) => {
      await workspace.configure({ carrier });
      await beginAnew();
      const site = new Map([['/always.txt', 'always']]);
      const store: TrustedStore = new Map();
      for (const step of sequence) await take(step, site, store);
      await checkPublication(site, store);
    }),
    {
      numRuns: runs(14, 120),
      examples: [
        ['beside', PUBLIC_NO_MORE],
        ['html', PUBLIC_NO_MORE],
      ],
    },
  );
});

/** Restores the state after `wispr init`: making keys anew takes longer than everything else. */
async function beginAnew(): Promise<void> {
  for (const name of ['protected', 'publisher.db', 'site']) {
    await rm(join(workspace.directory, name), { recursive: true, force: true });
  }
  await writeFile(join(workspace.directory, 'publisher.keys'), freshKeys);
  await workspace.write('always.txt', 'always');
}

async function take(step: Step, site: Map<string, string>, store: TrustedStore): Promise<void> {
  switch (step.kind) {
    case 'write': {
      const text = step.name.endsWith('.html')
        ? `<meta name="wispr-set" content="${step.set}">${step.text}`
        : step.text;
      await workspace.write(step.name, text);
      site.set(`/${step.name}`, text);
      return;
    }
    case 'remove':
      await rm(join(workspace.source, step.name), { force: true });
      site.delete(`/${step.name}`);
      return;
    case 'protect':
      return checkPublication(site, store);
    case 'rekey':
      await workspace.protect({ rekey: [step.set] }).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'argument-invalid' });
      });
      return;
    case 'stop':
      return stopAfter(step.after);
    case 'lose index':
      return rm(join(workspace.directory, 'publisher.db'), { force: true });
    case 'lose file':
      return loseFile(step.which);
  }
}

async function stopAfter(documents: number): Promise<void> {
  const controller = new AbortController();
  const onProgress = ({ stage, done }: { stage: string; done: number }) => {
    if (stage === 'writing' && done >= documents) controller.abort();
  };
  await workspace.protect({ signal: controller.signal, onProgress }).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'stopped' });
  });
}

/** Removes any file but those by which the output, and what is public in it, is known to be ours where the index is lost too. */
async function loseFile(which: number): Promise<void> {
  if (!existsSync(workspace.out)) return;
  const entries = await readdir(workspace.out, { recursive: true, withFileTypes: true });
  const files = entries.filter(
    (entry) => entry.isFile() && !/^(?:timestamp|wispr-site)|\.html\.protected$/.test(entry.name),
  );
  const lost = files[which % files.length];
  if (lost) await rm(join(lost.parentPath, lost.name));
}

/** Protects, and compares documents, sets and contents with the site. */
async function checkPublication(site: ReadonlyMap<string, string>, store: TrustedStore): Promise<void> {
  const { sets } = await workspace.protect();
  // The page of a removed document may stay for hosts; at a path of the site, nothing is in clear that was so once.
  const { findings } = await verifyTree(workspace.out);
  expect(findings.filter(({ kind, path }) => kind !== 'extra' || site.has(path))).toEqual([]);
  const published = await workspace.published({ store, now: Math.floor(Date.now() / 1000) + 60 });
  expect(published.paths).toEqual([...site.keys()].sort());
  const names = new Map(sets.map(({ id, name }) => [id, name]));
  for (const [path, text] of site) {
    const { set } = await published.entry(path);
    const wanted = /content="([a-z]+)"/.exec(text)?.[1] ?? 'subscribers';
    expect([path, set === undefined ? 'public' : names.get(set)]).toEqual([path, wanted]);
    expect((await contentOf(await published.open(path))).toString()).toBe(text);
  }
}

/** Sections: parts of a site that others sign for. What cannot be signed here stays as it is published, and everything else goes on. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ed25519KeyPair, randomBytes, xwingKeyPair } from '#primitives';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { collect } from '../../core/encoding/byte-reader.ts';
import { openBundle } from '../../core/keys/bundle.ts';
import { delegates, pathHashOf } from '../../core/publication/bins.ts';
import { openEnvelope } from '../../core/publication/envelope.ts';
import { type RoleSigner, roleSigner } from '../../core/publication/keys.ts';
import { parseTargets, type TargetsMetadata } from '../../core/publication/metadata.ts';
import { METADATA_PATH, metadataFile } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { addSigner, rotatePublisherKey } from '../../publisher/keys/change-roots.ts';
import { addSectionSigner, removeSectionSigner, rotateSection } from '../../publisher/keys/change-sections.ts';
import { listKeys } from '../../publisher/publication/list-keys.ts';
import { expiriesOf } from '../../publisher/publication/roles.ts';
import { openShown, openSnapshot } from '../../publisher/publication/signed.ts';
import { sourceInDirectory } from '../../publisher/publication/sources.ts';
import { Sections, targetPatterns } from '../../publisher/site/sections.ts';
import { verifyTree } from '../../publisher/verify/verify.ts';
import { SECTION_DEPTH } from '../../publisher/workspace/configuration/names.ts';
import type { TrustedStore } from '../support/published.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const DAY = 86_400;
const SPORTS = { name: 'sports', paths: ['sports/**'] };
const FILES = {
  'index.html': '<title>Front</title>',
  'sports/match.html': '<title>Match</title>',
  'sports/2026/11/table.csv': '1;2',
  'style.css': 'p { color: red }',
};

let workspace: TestWorkspace;
/** Trust of a reader, from one publication to the next. */
let store: TrustedStore;
beforeEach(async () => {
  store = new Map();
  workspace = await createWorkspace(FILES, { sections: [SPORTS], public: ['**/*.csv', 'style.css'] });
});
afterEach(() => workspace.remove());

const newSigner = () => roleSigner(ed25519KeyPair(randomBytes(32)));

/** Gives the section to another signer altogether. */
async function handOver(section = 'sports'): Promise<RoleSigner> {
  const desk = await newSigner();
  const { own = '' } = await addSectionSigner(workspace.keyOptions, section, desk.publicKey);
  await removeSectionSigner(workspace.keyOptions, section, own);
  return desk;
}

/** A role as it is published. */
async function role(name: string): Promise<TargetsMetadata> {
  const { snapshot } = await openShown(sourceInDirectory(workspace.out), 'out');
  const version = snapshot.snapshot.roles.get(name)?.version ?? 0;
  const bytes = await readFile(join(workspace.out, METADATA_PATH, metadataFile(name, version)));
  return parseTargets(openEnvelope(bytes, name).signed(), name);
}

/** Reads as a reader who saw every publication before: rollbacks and what vanished would be refused. */
async function pathsRead(): Promise<readonly string[]> {
  const published = await workspace.published({ store });
  for (const path of published.paths) await published.open(path);
  return published.paths;
}

const ALL = ['/index.html', '/sports/2026/11/table.csv', '/sports/match.html', '/style.css'];

describe('a section', () => {
  it('is signed by a key of its own, and names its documents alone', async () => {
    const summary = await workspace.protect();
    expect(summary.sections).toEqual([{ name: 'sports', documents: 2, waiting: 0 }]);
    expect(await pathsRead()).toEqual(ALL);
    const section = await role('sports');
    expect(section.targetPaths().sort()).toEqual([
      'sports/2026/11/table.csv',
      'sports/2026/11/table.csv.protected',
      'sports/match.html.protected',
    ]);
    for (const bin of ['documents-0', 'documents-1', 'documents-2', 'documents-3']) {
      const named = await role(bin).then(
        (found) => found.targetPaths(),
        () => [],
      );
      expect(named.filter((path) => path.startsWith('sports/'))).toEqual([]);
    }
    const targets = await role('targets');
    const [delegation, documents] = targets.delegations;
    expect(delegation).toMatchObject({ name: 'sports', terminating: true, threshold: 1 });
    expect(delegation?.keyids).not.toEqual(documents?.keyids);
    expect((await verifyTree(workspace.out)).findings).toEqual([]);
  });

  it('is signed again when something in it changes, and not otherwise', async () => {
    await workspace.protect();
    await workspace.write('index.html', '<title>Front 2</title>');
    await workspace.protect();
    expect((await role('sports')).version).toBe(1);
    await workspace.write('sports/match.html', '<title>Match 2</title>');
    await rm(join(workspace.source, 'sports/2026/11/table.csv'));
    await workspace.protect();
    expect((await role('sports')).version).toBe(3);
    expect(await pathsRead()).toEqual(ALL.filter((path) => !path.endsWith('.csv')));
    expect((await workspace.protect()).publication.isNew).toBe(false);
  });

  it('says when it ends: in the summary, to the key server, in the list of keys', async () => {
    const { publication } = await workspace.protect();
    const expires = (await role('sports')).expires;
    expect(publication.expires).toContainEqual({ role: 'sports', expires });
    const place = sourceInDirectory(workspace.out);
    const { snapshot, roots } = await openShown(place, 'out');
    const opened = await openSnapshot(snapshot, place, roots);
    expect(await expiriesOf(opened)).toContainEqual({ role: 'sports', expires, version: 1 });
    for (const passphrase of [PASSPHRASE, undefined]) {
      const { expiries, roles } = await listKeys(workspace.configurationFile, passphrase);
      expect(expiries).toContainEqual({ role: 'sports', expires, version: 1 });
      expect(roles.at(-1)).toMatchObject({ role: 'section:sports', threshold: 1, keys: [{ atKeyServer: false }] });
    }
  });

  it('gets new keys, and readers follow', async () => {
    await workspace.protect();
    const [before] = (await role('targets')).delegations;
    await pathsRead();
    await rotateSection(workspace.keyOptions, 'sports');
    expect((await workspace.protect()).publication.isNew).toBe(true);
    const [after] = (await role('targets')).delegations;
    expect(after?.keyids).not.toEqual(before?.keyids);
    expect(await pathsRead()).toEqual(ALL);
    expect((await verifyTree(workspace.out)).findings).toEqual([]);
  });
});

describe('a section whose key is elsewhere', () => {
  it('waits, and the rest is published; what readers need of it stays for good', async () => {
    await workspace.protect();
    const desk = await handOver();
    await workspace.protect({ signers: [desk] });
    const before = await workspace.published();
    const match = await before.entry('/sports/match.html');
    await workspace.write('index.html', '<title>Front 2</title>');
    await workspace.write('sports/match.html', '<title>Match 2</title>');
    await workspace.write('sports/new.html', '<title>New</title>');
    await rm(join(workspace.source, 'sports/2026/11/table.csv'));
    const summary = await workspace.protect();
    expect(summary.sections).toEqual([{ name: 'sports', documents: 1, waiting: 3 }]);
    expect(summary.changes).toMatchObject({ changed: 1, added: 0, removed: 0 });
    expect(await workspace.plan()).toMatchObject({
      changes: { changed: 1, added: 1, removed: 1 },
      sections: [{ name: 'sports', documents: 2, waiting: 0 }],
    });
    expect(await pathsRead()).toEqual(ALL);
    expect(await (await workspace.published()).entry('/sports/match.html')).toEqual(match);
    // Time long after readers could hold an older publication, when old files go.
    const later = nowInSeconds() + 60 * DAY;
    await workspace.protect({ now: later });
    expect((await verifyTree(workspace.out, { now: later })).findings).toEqual([]);
    const { open } = await workspace.published({ now: later });
    const { content } = await open('/sports/match.html');
    expect(Buffer.from(await collect(content)).toString()).toContain('Match<');
  });

  it('is published once its key is here', async () => {
    await workspace.protect();
    const desk = await handOver();
    await workspace.write('sports/match.html', '<title>Match 2</title>');
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'signatures-missing' }); // keys have changed
    expect((await workspace.published()).version).toBe(1);
    const { sections, changes } = await workspace.protect({ signers: [desk] });
    expect(sections).toEqual([{ name: 'sports', documents: 2, waiting: 0 }]);
    expect(changes).toMatchObject({ changed: 1 });
    expect(String(await workspace.read('/sports/match.html'))).toContain('Match 2');
    expect(await pathsRead()).toEqual(ALL);
  });

  it.each(['publisher.db', 'a run that was killed before it signed'])(
    'is not published by halves after %s',
    async (lost) => {
      await workspace.protect();
      const desk = await handOver();
      await workspace.protect({ signers: [desk] });
      if (lost === 'publisher.db') await rm(join(workspace.directory, lost));
      else {
        await workspace.write('sports/match.html', '<title>Match 2</title>');
        const raised = workspace.protect({
          signers: [desk],
          onProgress: ({ stage, done }) => {
            if (stage === 'writing' && done === 1) throw new Error('killed');
          },
        });
        await expect(raised).rejects.toThrow('killed');
      }
      await expect(workspace.protect()).rejects.toMatchObject({ code: 'signatures-missing' });
      expect(await pathsRead()).toEqual(ALL);
      await workspace.protect({ signers: [desk] });
      expect(await pathsRead()).toEqual(ALL);
      expect((await verifyTree(workspace.out)).findings).toEqual([]);
    },
  );

  it('keeps the set keys that its documents are under, and no others, as long as it waits', async () => {
    const recipient = xwingKeyPair(randomBytes(32));
    await writeFile(join(workspace.directory, 'keyserver.pub'), `${toBase64url(recipient.publicKey)}\n`);
    const bundled = async () => {
      const { sets } = await openBundle(await readFile(join(workspace.directory, 'keys.bundle')), recipient);
      return sets.map(({ key }) => key);
    };
    const [{ name = '' } = {}] = (await workspace.protect()).sets;
    const keyOf = async () => toBase64url((await workspace.keyStore()).contents.sets.get(name) ?? new Uint8Array(0));
    const kept = async () => (await workspace.keyStore()).contents.kept.map(({ key }) => toBase64url(key));
    const first = await keyOf();
    const desk = await handOver();
    await workspace.protect({ signers: [desk] });
    for (const _ of [1, 2]) {
      await workspace.protect({ rekey: [name] });
      expect(await keyOf()).not.toBe(first);
      expect(await kept()).toEqual([first]);
      expect(await bundled()).toEqual([await keyOf(), first]);
      expect(await pathsRead()).toEqual(ALL);
    }
    await workspace.protect();
    expect(await kept()).toEqual([first]);
    await workspace.protect({ signers: [desk] });
    expect(await kept()).toEqual([]);
    expect(await bundled()).toEqual([await keyOf()]);
    expect(await pathsRead()).toEqual(ALL);
  });

  it.each([false, true])(
    'is not left with documents of another publisher key, also after a run that was killed: %s',
    async (killed) => {
      await workspace.protect();
      const desk = await handOver();
      await workspace.protect({ signers: [desk] });
      await rotatePublisherKey(workspace.keyOptions);
      const kill = ({ stage }: { stage: string }) => {
        if (stage === 'writing') throw new Error('killed');
      };
      if (killed) await expect(workspace.protect({ signers: [desk], onProgress: kill })).rejects.toThrow('killed');
      await expect(workspace.protect()).rejects.toMatchObject({ code: 'signatures-missing' });
      await workspace.protect({ signers: [desk] });
      expect(await pathsRead()).toEqual(ALL);
      await workspace.write('index.html', '<title>Front 2</title>');
      expect((await workspace.protect()).sections).toEqual([{ name: 'sports', documents: 2, waiting: 0 }]);
    },
  );

  it('takes two of its keys where it needs two; and a key of no section is refused', async () => {
    await workspace.protect();
    const [one, two] = [await handOver(), await newSigner()];
    await addSectionSigner(workspace.keyOptions, 'sports', two.publicKey, 2);
    await expect(workspace.protect({ signers: [one] })).rejects.toMatchObject({ code: 'signatures-missing' });
    await expect(workspace.protect({ signers: [one, one] })).rejects.toMatchObject({ code: 'signatures-missing' });
    await expect(workspace.protect({ signers: [one, two, await newSigner()] })).rejects.toMatchObject({
      code: 'signatures-missing',
    });
    await workspace.protect({ signers: [one, two] });
    expect((await role('targets')).delegations[0]).toMatchObject({ threshold: 2 });
    expect(await pathsRead()).toEqual(ALL);
  });
});

describe('several sections', () => {
  const CHESS = { name: 'chess', paths: ['sports/chess/**', '*.pgn'] };

  it('the first that fits a path signs for it', async () => {
    await workspace.write('sports/chess/game.html', '<title>Game</title>');
    await workspace.write('one.pgn', '1. e4 e5');
    await workspace.configure({ sections: [CHESS, SPORTS] });
    await workspace.protect();
    expect((await role('chess')).targetPaths().sort()).toEqual([
      'one.pgn.protected',
      'sports/chess/game.html.protected',
    ]);
    expect(await pathsRead()).toHaveLength(ALL.length + 2);
    await workspace.configure({ sections: [SPORTS, CHESS] });
    await workspace.protect();
    expect((await role('chess')).targetPaths()).toEqual(['one.pgn.protected']);
    expect(await pathsRead()).toHaveLength(ALL.length + 2);
    expect((await verifyTree(workspace.out)).findings).toEqual([]);
  });

  it('one that is removed gives its documents back, and names nothing old when it returns', async () => {
    await workspace.protect();
    await pathsRead();
    await workspace.configure({ sections: [] });
    await workspace.protect();
    expect((await role('targets')).delegations.map(({ name }) => name)).toEqual(['documents']);
    expect(await pathsRead()).toEqual(ALL);
    await rm(join(workspace.source, 'sports'), { recursive: true });
    await workspace.protect();
    await workspace.configure({ sections: [SPORTS] });
    const { unusedPatterns } = await workspace.protect();
    expect(unusedPatterns).toContain('sports/**');
    expect((await role('sports')).targetPaths()).toEqual([]);
    expect(await pathsRead()).toEqual(['/index.html', '/style.css']);
    expect((await verifyTree(workspace.out)).findings).toEqual([]);
  });

  it('a document too deep for the patterns is refused', async () => {
    await workspace.write(`sports/${'d/'.repeat(SECTION_DEPTH)}deep.html`, 'deep');
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'source-refused' });
  });
});

describe('the role targets', () => {
  it('takes a threshold above one, where the other signer is at hand', async () => {
    await workspace.protect();
    const ada = await newSigner();
    expect(await addSigner(workspace.keyOptions, 'targets', ada.publicKey, 2)).toMatchObject({ outcome: 'changed' });
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'signatures-missing' });
    expect(await pathsRead()).toEqual(ALL);
    await workspace.protect({ signers: [ada] });
    expect(await pathsRead()).toEqual(ALL);
    expect((await workspace.protect()).publication.isNew).toBe(false); // nothing but the timestamp
    expect((await verifyTree(workspace.out)).findings).toEqual([]);
  });
});

describe('patterns', () => {
  const name = fc.constantFrom('a', 'b', 'ab', 'a.html', 'x.y', '.a', 'a b', 'ü');
  const segment = fc.oneof(name, fc.constantFrom('*', 'a*', '*b', '?', '*.html', 'a?*'));
  const written = fc
    .tuple(fc.array(segment, { minLength: 1, maxLength: 3 }), fc.boolean())
    .map(([parts, all]) => [...parts, ...(all ? ['**'] : [])].join('/'));
  const path = fc.array(name, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));
  const target = fc.tuple(path, fc.boolean()).map(([text, head]) => (head ? `${text}.protected` : text));

  it('find the section that readers are sent to', async () => {
    const rules = fc.array(written, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(rules, { maxLength: 3 }), target, async (lists, targetPath) => {
        const sections = lists.map((paths, index) => ({ name: `s${index}`, paths }));
        const hash = await pathHashOf(targetPath);
        const sent = sections.find((section) =>
          delegates({ ...DELEGATION, paths: targetPatterns(section) }, targetPath, hash),
        );
        expect(new Sections(sections).find(targetPath)).toBe(sent?.name);
      }),
      { numRuns: 1000 },
    );
  });
});

const DELEGATION = { keyids: [], threshold: 1, name: 'x', terminating: true, pathHashPrefixes: undefined };

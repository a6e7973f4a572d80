/**
 * Lists, roots and keys of before that come with a publication that waits for signatures: each of the checks that they are what they are said to
 * be, by a draft in which nothing else is wrong.
 */
import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { toHex } from '../../core/encoding/hex.ts';
import { binNames } from '../../core/publication/bins.ts';
import { type TufObject, tufCanonical } from '../../core/publication/canonical.ts';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { binMetadata, documentsMetadata, rootMetadata, signMetadata } from '../../core/publication/writer.ts';
import { addSigner, removeSigner } from '../../publisher/keys/change-roles.ts';
import { readDraft, reviewRoot, signDraftFile } from '../../publisher/keys/gather-signatures.ts';
import { openSigners } from '../../publisher/keys/open-signers.ts';
import type { PublicationDraft } from '../../publisher/keys/publication-draft.ts';
import { encodeDraft, makeDraft } from '../../publisher/keys/root-draft.ts';
import { rolesOf } from '../../publisher/keys/roots.ts';
import { readSigner } from '../../publisher/keys/signer-file.ts';
import { readMemory } from '../../publisher/keys/signer-memory.ts';
import { BEHIND, contentOf, otherwise, REFUSED, Signers, THEIRS, targetsOf, toSign } from '../support/signers.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

vi.setConfig({ testTimeout: 240_000 }); // each protects several times

let workspace: TestWorkspace;
let signers: Signers;

beforeEach(async () => {
  workspace = await createWorkspace({ 'index.html': 'front', 'a.html': 'a' });
  signers = await Signers.in(workspace, ['ada', 'bea']);
});
afterEach(() => workspace.remove());

const options = () => ({ configurationFile: workspace.configurationFile, passphrase: PASSPHRASE });

/** A draft of publication 2, in which one bin changes. */
async function second(): Promise<{ draft: PublicationDraft; bin: string }> {
  await signers.publish('ada');
  await workspace.write('a.html', 'v2');
  const draft = await signers.leave();
  return { draft, bin: draft.roles[0]?.name ?? '' };
}

describe('a list of before', () => {
  it('attack 36: is signed by as many as have to', async () => {
    await signers.add('ada', 2);
    const { draft, bin } = await second();
    const list = binMetadata({ version: 1, expires: draft.expires }, []);
    const comparedWith = (bytes: Uint8Array) =>
      signers.forge(draft, { before: new Map([...draft.before, [bin, bytes]]) });
    expect((await comparedWith(await signers.signedBy('ada', list))).earlier.get(bin)?.version).toBe(1);
    await expect(comparedWith(signMetadata(list, [await signers.own()]))).rejects.toMatchObject(REFUSED);
  });

  it('attack 36: is of an earlier publication', async () => {
    await signers.add('ada', 2);
    const { draft, bin } = await second();
    const comparedWith = async (version: number) => {
      const bytes = await signers.signedBy('ada', binMetadata({ version, expires: draft.expires }, []));
      return signers.forge(draft, { before: new Map([...draft.before, [bin, bytes]]) });
    };
    expect((await comparedWith(1)).earlier.get(bin)?.version).toBe(1);
    for (const version of [2, 3]) await expect(comparedWith(version)).rejects.toMatchObject(REFUSED);
  });

  it('attack 36: has one digest, whoever spells it', async () => {
    await signers.add('ada', 2);
    const { draft, bin } = await second();
    const comparedWith = (text: string) =>
      signers.forge(draft, { before: new Map([...draft.before, [bin, Buffer.from(text)]]) });
    const text = (await signers.base(bin, 1)).toString();
    const around = await comparedWith(`${text.replace('{"signatures"', '{ "signatures"')}`);
    const seen = async (one: PublicationDraft) => (await signers.review(one, 'bea')).review.after.lists.get(bin)?.seen;
    expect(await seen(around)).toEqual(await seen(draft));
    for (const [from, to] of [
      ['"signed":{', '"signed":{ '],
      ['"signed":{', '"signed": {'],
      ['"_type"', '"\\u005ftype"'],
    ] as const) {
      expect(text).toContain(from);
      const spelled = await comparedWith(text.replace(from, to)).catch((error: unknown) => error);
      if (spelled instanceof Error) expect(spelled).toMatchObject(REFUSED);
      else expect(await seen(spelled as PublicationDraft)).toEqual(await seen(draft));
    }
  });
});

describe('a bin of before', () => {
  it('attack 36: names documents, and leads to no other list', async () => {
    await signers.add('ada', 2);
    const { draft, bin } = await second();
    expect((await signers.forge(draft, { before: draft.before })).earlier.has(bin)).toBe(true);
    const before = new Map([...draft.before, [bin, await signers.base('documents', 1)]]);
    await expect(signers.forge(draft, { before })).rejects.toMatchObject(REFUSED); // it says of nothing that it was there
  });
});

describe('lists that are not signed again', () => {
  it('attack 36: are none from before those that were seen', async () => {
    await signers.add('ada', 2);
    const { draft } = await second();
    const { version, expires, root } = draft;
    const bits = draft.earlier.get('documents')?.bins?.bits ?? 0;
    const numbered = (number: number) => ({ version: number, expires });
    const anew = {
      targets: async () => ({ ...(await targetsOf(draft, draft.settings)), ...{ version: 2 } }),
      documents: () => documentsMetadata(numbered(2), bits, rolesOf(root).targets),
    };
    // A publication 3 that is compared with lists of 2, which is what ada sees; then another, which is compared with those of 1.
    const later = (number: number) => (content: TufObject) => ({ ...content, version: number });
    const rolesOfNumber = (number: number) =>
      otherwise(draft, Object.fromEntries(draft.roles.map(({ name }) => [name, later(number)])));
    expect([version, draft.roles.length]).toEqual([2, 1]);
    const newer = await Promise.all(
      Object.entries(anew).map(async ([name, make]) => [name, await signers.signedBy('ada', await make())] as const),
    );
    const third = await signers.forge(draft, { roles: rolesOfNumber(3), before: new Map([...draft.before, ...newer]) });
    expect((await signers.review(third, 'ada')).review.overtaken).toEqual([]);
    await signers.sign('forged.draft', 'ada');
    const fourth = (more: typeof newer) =>
      signers.forge(draft, { roles: rolesOfNumber(4), before: new Map([...draft.before, ...more]) });
    for (const left of newer) {
      const forged = await fourth(newer.filter((one) => one !== left));
      await expect(signers.review(forged, 'ada')).rejects.toMatchObject(BEHIND);
    }
    const again = await fourth(newer);
    await expect(signers.review(again, 'bea')).resolves.toMatchObject({ review: { overtaken: [] } });
  });
});

describe('what documents and bins stand under', () => {
  it('attack 36: has keys under their own ids, and no key goes by that of another', async () => {
    await signers.add('ada', 2);
    const { draft } = await second();
    const open = (file: string, passphrase: string) => openSigners([file], async () => passphrase);
    const [[ada], [bea]] = [await open(signers.key('ada'), THEIRS), await open(signers.key('bea'), THEIRS)];
    if (!ada || !bea) throw new Error('they have no keys');
    // Wherever ada's key was, there is another, under her key id; and all that was there before is signed with that.
    const instead = (bytes: Uint8Array, whose: { publicKey: Uint8Array }, version?: number) => {
      const text = JSON.stringify(contentOf(bytes).signed).replaceAll(toHex(ada.publicKey), toHex(whose.publicKey));
      return { ...(JSON.parse(text) as TufObject), ...(version !== undefined && { version }) };
    };
    const whole = async (whose: RoleSigner) => {
      const root = instead(draft.chain[1] ?? new Uint8Array(0), whose, 3);
      const by = [await signers.own(), { ...whose, keyid: ada.keyid }];
      const before = Array.from(draft.before, ([name, bytes]) => {
        return [name, signMetadata(instead(bytes, whose), by)] as const;
      });
      const chain = [...draft.chain, signMetadata(root, await open(signers.at('root.keys'), PASSPHRASE))];
      return signers.forge(draft, { chain, before: new Map(before) });
    };
    expect((await whole(ada)).root.version).toBe(3);
    await expect(whole(bea)).rejects.toMatchObject(REFUSED);
  });

  it('attack 36: has the threshold of the root', async () => {
    await signers.add('ada');
    await signers.add('bea', 3);
    await signers.publish('ada', 'bea'); // by three of three
    const [bea = ''] = (await openSigners([signers.key('bea')], async () => THEIRS)).map(({ keyid }) => keyid);
    await removeSigner(options(), 'targets', bea, 2);
    await signers.add('bea', 2); // the same keys, and two of them are enough now
    await workspace.write('a.html', 'v2');
    const draft = await signers.leave();
    expect(draft.root.roles.targets).toMatchObject({ threshold: 2, keyids: { length: 3 } });
    expect(draft.earlier.get('documents')?.bins).toMatchObject({ threshold: 3, keyids: { length: 3 } });
    expect(draft.earlier.get('targets')?.delegations.at(-1)).toMatchObject({ threshold: 3 });
    const without = (...names: string[]) =>
      signers.forge(draft, { roles: draft.roles.filter(({ name }) => !names.includes(name)) });
    expect((await without()).version).toBe(2);
    await expect(without('targets')).rejects.toMatchObject(REFUSED);
    await expect(without('documents')).rejects.toMatchObject(REFUSED);
  });
});

describe('roots', () => {
  it('attack 36: are those that were seen, not others of the same number', async () => {
    await signers.add('ada', 2);
    const { draft } = await second();
    const content = await rootMetadata({ version: 2, expires: draft.root.expires - 60 }, rolesOf(draft.root));
    const keys = await openSigners([signers.at('root.keys')], async () => PASSPHRASE);
    const chain = [...draft.chain.slice(0, 1), signMetadata(content, keys)];
    const forged = await signers.forge(draft, { chain });
    expect(forged).toMatchObject({ rootId: draft.rootId, root: { version: 2 } });
    expect((await signers.review(forged, 'bea')).review.signed).toBeUndefined();
    await expect(signers.review(forged, 'ada')).rejects.toMatchObject(BEHIND);
    expect((await signers.review(draft, 'ada')).review.signed).toBe(1);
  });

  it('attack 36: two of one number are not signed without a word', async () => {
    await addSigner(options(), 'root', await readSigner(`${signers.key('ada')}.pub`), 2);
    const draft = await readDraft(signers.at('root.2.json'));
    expect(await reviewRoot(draft, signers.key('ada'))).toEqual({ signedAnother: false });
    await signDraftFile(signers.at('root.2.json'), draft, signers.key('ada'), THEIRS);
    expect(await readMemory(signers.key('ada'))).toMatchObject({ signedRoot: { version: 2 } });
    expect(await reviewRoot(draft, signers.key('ada'))).toEqual({ signedAnother: false });
    const content = await rootMetadata({ version: 2, expires: draft.after.expires + 5 }, rolesOf(draft.after));
    const other = await makeDraft(draft.chain, tufCanonical(content));
    await writeFile(signers.at('other.json'), encodeDraft(other));
    expect(await reviewRoot(other, signers.key('ada'))).toEqual({ signedAnother: true });
    expect(await reviewRoot(other, signers.key('bea'))).toEqual({ signedAnother: false });
  });
});

describe('the bins that were seen', () => {
  it('attack 36: are remembered, also where a publication is compared with none', async () => {
    await signers.add('ada', 2);
    const { draft } = await second();
    await signers.sign('publication.2.draft', 'ada');
    await workspace.protect();
    const bits = draft.earlier.get('documents')?.bins?.bits ?? 0;
    expect(await readMemory(signers.key('ada'))).toMatchObject({ bits });
    expect(bits).toBeGreaterThan(0);
    await workspace.write('a.html', 'v3');
    const next = await signers.leave();
    const about = { version: next.version, expires: next.expires };
    const bins = binNames(bits).map((name) => toSign(name, binMetadata(about, [])));
    const documents = toSign('documents', await documentsMetadata(about, bits, rolesOf(next.root).targets));
    const before = new Map([...next.before].filter(([name]) => name === 'targets'));
    const none = await signers.forge(next, { before, roles: [...bins, documents] });
    expect((await signers.review(none, 'ada')).review.after.bits).toBe(bits);
    expect((await signers.review(none, 'bea')).review.after.bits).toBe(0);
  });
});

import { writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { areArgon2idParameters, keyFromPassphrase, newParameters } from '../../node-support/argon2id.ts';
import { beginKey } from '../../publisher/keys/early-key.ts';
import { openKeyStore } from '../../publisher/keys/key-store.ts';
import { readKeyStore, type Workspace, workspaceOf } from '../../publisher/workspace.ts';
import { CHEAP } from '../support/cheap-keys.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

const memory = vi.hoisted(() => ({ isThere: true }));
vi.mock('../../node-support/argon2id.ts', async (original) => {
  const real = await original<typeof import('../../node-support/argon2id.ts')>();
  const keyFromPassphrase: typeof real.keyFromPassphrase = async (...wanted) => {
    if (!memory.isThere) throw new Error('no memory');
    return real.keyFromPassphrase(...wanted);
  };
  return { ...real, keyFromPassphrase };
});

const OTHER = newParameters(new Uint8Array(16).fill(1), CHEAP);

describe('the key of a key store, derived early', () => {
  let site: TestWorkspace;
  let workspace: Workspace;

  beforeEach(async () => {
    site = await createWorkspace();
    workspace = workspaceOf(site.configurationFile);
  });
  afterEach(() => site.remove());

  it('opens the key store, and is derived once', async () => {
    const derive = await beginKey(workspace, PASSPHRASE);
    const bytes = await readKeyStore(workspace);
    expect((await openKeyStore(bytes, PASSPHRASE, derive)).rootId).toBe((await site.keyStore()).rootId);
    const { argon2id } = JSON.parse(new TextDecoder().decode(bytes));
    expect(areArgon2idParameters(argon2id)).toBe(true);
    expect(derive(PASSPHRASE, { ...argon2id })).toBe(derive(PASSPHRASE, { ...argon2id })); // one promise, made before
  });

  it('is not taken for another key store that has come in between, or another passphrase', async () => {
    const derive = await beginKey(workspace, PASSPHRASE);
    expect(await derive(PASSPHRASE, OTHER)).toEqual(await keyFromPassphrase(PASSPHRASE, OTHER));
    const bytes = await readKeyStore(workspace);
    await expect(openKeyStore(bytes, 'not the passphrase', derive)).rejects.toMatchObject({ code: 'passphrase-wrong' });
  });

  it.each([
    ['damaged', '{'],
    ['altered, so that it asks for 4 GiB', JSON.stringify({ argon2id: { ...OTHER, memory: 4_194_304 } })],
  ])('is not begun where the key store is %s; whoever opens it says so', async (_, content) => {
    await writeFile(workspace.keyStore, content);
    expect(await beginKey(workspace, PASSPHRASE)).toBe(keyFromPassphrase);
    await expect(site.protect()).rejects.toMatchObject({ code: 'key-store-damaged' });
  });

  it('ends nothing where it cannot be derived, as for want of memory: whoever asks for it learns that', async () => {
    const failed: unknown[] = [];
    const onFailed = (error: unknown) => void failed.push(error);
    process.on('unhandledRejection', onFailed);
    memory.isThere = false;
    const derive = await beginKey(workspace, PASSPHRASE);
    await new Promise(setImmediate);
    memory.isThere = true;
    process.off('unhandledRejection', onFailed);
    expect(failed).toEqual([]);
    const { argon2id } = JSON.parse(new TextDecoder().decode(await readKeyStore(workspace)));
    await expect(derive(PASSPHRASE, argon2id)).rejects.toThrow('no memory');
  });

  it('is not begun where there is no key store', async () => {
    expect(await beginKey({ ...workspace, keyStore: `${workspace.keyStore}.not` }, PASSPHRASE)).toBe(keyFromPassphrase);
  });
});

/** Files of a workspace that are there and cannot be used: what is advised does not put a backup in the place of what is not lost. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { renewRoot } from '../../publisher/keys/change-roots.ts';
import { changePassphrase } from '../../publisher/keys/create-keys.ts';
import { readSigningKeys } from '../../publisher/keys/signing-keys.ts';
import { listKeys } from '../../publisher/publication/list-keys.ts';
import { createWorkspace, PASSPHRASE, type TestWorkspace } from '../support/workspace.ts';

let workspace: TestWorkspace;
beforeEach(async () => {
  workspace = await createWorkspace({ 'a.txt': 'a' });
});
afterEach(() => workspace.remove());

const at = (name: string) => join(workspace.directory, name);

describe('the key store', () => {
  it('is to be restored where it is gone, and not where something stands in its way', async () => {
    await rm(at('publisher.keys'));
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'key-store-refused' });
    await mkdir(at('publisher.keys'));
    await expect(workspace.protect()).rejects.toMatchObject({ code: 'key-store-refused' });
  });
});

describe('root keys that cannot be read', () => {
  it('are said to be that, by every command that looks at them, and are no fault of the program', async () => {
    await rm(at('root.keys'));
    await mkdir(at('root.keys'));
    const unreadable = { code: 'key-file-refused' };
    await expect(renewRoot(workspace.keyOptions)).rejects.toMatchObject(unreadable);
    await expect(listKeys(workspace.configurationFile, PASSPHRASE)).rejects.toMatchObject(unreadable);
    await expect(changePassphrase(workspace.keyOptions, 'another passphrase')).rejects.toMatchObject(unreadable);
    await expect(readSigningKeys(at('nothing'))).rejects.toMatchObject(unreadable);
  });
});

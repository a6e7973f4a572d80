/** Files of a workspace that are there and cannot be used: what is advised does not put a backup in the place of what is not lost. */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWorkspace, type TestWorkspace } from '../support/workspace.ts';

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

import { afterEach, it } from 'vitest';
import { killWhileProtecting } from '../../support/passphrase-kills.ts';
import { CleanUp, storageIn, temporaryFolder } from '../../support/reader-rig.ts';
import { KILLS } from './kills.ts';

const cleanUp = new CleanUp();
afterEach(() => cleanUp.run());

it('attack 66: a passphrase that changes, killed at random moments, leaves a database that opens', async () => {
  await killWhileProtecting(storageIn(await temporaryFolder(cleanUp)), KILLS);
}, 600_000);

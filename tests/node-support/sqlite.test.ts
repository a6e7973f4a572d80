import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runAsOtherUser } from '../support/other-user.ts';
import { ROOT } from '../support/programs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

it('the reason that another user cannot open a database is the permission of a file, which is named', async () => {
  const directory = temporaryFolder();
  await chmod(directory, 0o755);
  const file = join(directory, 'a.db');
  await writeFile(file, '', { mode: 0o600 });
  const script = `
    import { DatabaseSync } from 'node:sqlite';
    import { databaseReason } from '${ROOT}node-support/sqlite.ts';
    try { new DatabaseSync('${file}').exec('CREATE TABLE t (a)'); } catch (error) { console.log(databaseReason(error, '${file}')); }`;
  const said = await runAsOtherUser(process.execPath, '--input-type=module', '-e', script);
  expect(said).toBe(`permission denied (${file})\n`);
});

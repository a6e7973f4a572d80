/** What `wispr verify` counts as left from earlier publications after the publisher's key has changed. */
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { rotatePublisherKey } from '../../publisher/keys/change-roles.ts';
import { verifyTree } from '../../publisher/verify/tree.ts';
import { createWorkspace, PASSPHRASE } from '../support/workspace.ts';

const PAGE = '<!doctype html><title>A page</title><p data-wispr-excerpt>Teaser.</p><p>Rest.</p>';

it('counts what an earlier key of the publisher signed among what earlier publications left', async () => {
  const renewed = await createWorkspace({ 'a/index.html': PAGE, 'style.css': 'p {}' }, { public: ['style.css'] });
  await renewed.protect();
  const old = await renewed.objectFile('/a/index.html');
  await rotatePublisherKey({ configurationFile: renewed.configurationFile, passphrase: PASSPHRASE });
  await renewed.protect();
  const report = await verifyTree(renewed.out);
  expect(report).toMatchObject({ findings: [], encrypted: 1, signed: 1 });
  expect(report.leftovers).toBeGreaterThan(1);
  // Under another path, or with another head, it is no leftover.
  const [name, bytes] = [basename(old), await readFile(old)];
  await writeFile(join(renewed.out, name), bytes);
  const position = bytes.readUInt32BE(8) + 20; // in the signature
  bytes[position] = (bytes[position] ?? 0) ^ 1;
  await writeFile(old, bytes);
  const { findings } = await verifyTree(renewed.out);
  const both = [`/${name} file-unsigned`, `/a/${name} file-unsigned`].sort(); // a hash comes before or behind "a/"
  expect(findings.map(({ path, code }) => `${path} ${code}`).sort()).toEqual(both);
  await renewed.remove();
});

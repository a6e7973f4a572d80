import { expect, it } from 'vitest';
import { hexDigest } from '../../core/encoding/digest.ts';
import { FilesByHash } from '../../publisher/publish/files-by-hash.ts';

it('what is fetched is kept as far as there is room, and what is near is not', async () => {
  const reads: string[] = [];
  const far = {
    read: async (path: string) => {
      reads.push(path);
      return Buffer.from(path);
    },
  };
  const files = new FilesByHash([{ read: async () => undefined }, far], 5);
  for (const path of ['/one', '/two', '/one', '/two'])
    expect(await files.read(path, { length: 4, sha256: await hexDigest(Buffer.from(path)) })).toEqual(
      Buffer.from(path),
    );
  expect(reads).toEqual(['/one', '/two', '/two']);
});

import { expect, it } from 'vitest';
import type { OriginStore } from '../../web-reader/store.ts';
import { metadataIn } from '../../web-reader/worker/kept-metadata.ts';
import { encodeRoot } from '../support/first-root.ts';
import { createPublisher } from '../support/publisher-with-sets.ts';

function memory() {
  const values = new Map<string, unknown>();
  const state = {
    get: async (name: string) => values.get(name),
    put: async (name: string, value: unknown) => void values.set(name, value),
  };
  return { values, store: { state } as unknown as OriginStore };
}

it('attack 92: a root in storage counts only where the chain from the root id leads to it', async () => {
  const [own, foreign] = [(await createPublisher()).root, (await createPublisher()).root];
  const { values, store } = memory();
  const metadata = metadataIn(store, own.id);
  const name = `${own.id} root`;
  const second = await encodeRoot(own.signers, 2, [own.signers.root]);
  await metadata.write(name, own.bytes);
  expect(await metadata.read(name)).toEqual(own.bytes);
  await metadata.write(name, second);
  expect(await metadata.read(name)).toEqual(second);
  const forged = await encodeRoot(foreign.signers, 2, [foreign.signers.root]);
  for (const chain of [[foreign.bytes], [own.bytes, forged], [second], [own.bytes, second, second], second, 'x']) {
    values.set(`publication ${name}`, chain);
    expect(await metadata.read(name)).toBeUndefined();
  }
});

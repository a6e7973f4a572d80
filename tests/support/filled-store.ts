/** A reader's database with a binding, a set key and a seed in it. */
import { randomBytes } from '#primitives';
import { type StorageOptions, storeOptions } from '../../client-proxy/store/locations.ts';
import { ReaderStore } from '../../client-proxy/store/store.ts';
import { keyIdOf } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { verifyDescriptor } from '../../core/keys/descriptor.ts';
import type { NamedKey } from '../../core/keys/wrapped-key.ts';
import { createSetKey } from './publisher-with-sets.ts';
import { TestPublisher } from './test-publisher.ts';

export interface Filled {
  readonly publisher: TestPublisher;
  readonly keyServer: string;
  readonly deviceKey: NamedKey;
  readonly set: NamedKey;
  readonly seed: Uint8Array;
}

export interface Filling {
  readonly publisher?: TestPublisher;
  readonly keyServer?: string;
  /** Seconds since 1970. */
  readonly bound?: number;
  readonly site?: string;
}

/** Connects, without a key server, and closes the database again. */
export async function fillStore(options: StorageOptions, filling: Filling = {}): Promise<Filled> {
  const { site = 'news.example', keyServer = 'https://keys.example', bound = 1 } = filling;
  const publisher = filling.publisher ?? (await TestPublisher.create(site));
  const store = await ReaderStore.open(storeOptions(options));
  const descriptorBytes = publisher.descriptor(keyServer);
  const descriptor = await verifyDescriptor(descriptorBytes, 0);
  const key = randomBytes(32);
  const deviceKey = { id: await keyIdOf('device', key), key };
  const sites = [{ site, label: `${site.replaceAll('.', '-')}-x`, proof: 'host' as const }];
  await store.saveBinding({ descriptor, descriptorBytes, deviceKey, sites, firstRoot: publisher.root.bytes }, bound);
  const set = await createSetKey();
  const binding = (await store.bindings()).find((one) => one.descriptor.publisher === descriptor.publisher);
  await store.setKeys.save(binding?.id ?? 0, new Map([[set.id, { key: set.key, notBefore: 5, notAfter: 10 }]]));
  const seed = await store.deviceSeed();
  store.close();
  return { publisher, keyServer, deviceKey, set, seed };
}

/** Collects the secrets that a database holds, to be compared before and after. */
export async function secretsIn(options: StorageOptions): Promise<unknown> {
  const store = await ReaderStore.open(storeOptions(options));
  try {
    const bindings = await store.bindings();
    const keys = bindings.map(({ deviceKey, sites }) => [toBase64url(deviceKey.key), sites.map(({ site }) => site)]);
    return { seed: toBase64url(await store.deviceSeed()), keys };
  } finally {
    store.close();
  }
}

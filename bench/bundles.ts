/** A key server in a folder, in this process, and the bundles that a publisher brings it. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes } from '#primitives';
import { type KeyKind, keyIdOf } from '../core/crypto/key-id.ts';
import { toBase64url } from '../core/encoding/base64url.ts';
import type { BundledPeriod } from '../core/keys/bundle.ts';
import type { NamedKey } from '../core/keys/wrapped-key.ts';
import type { KeyServerConfig } from '../keyserver/config/config.ts';
import { importBundle, type Origins } from '../keyserver/publication/import-bundle.ts';
import type { KeyServerState } from '../keyserver/storage/state.ts';
import { createPublisher, SITE, sealBundle } from '../tests/support/publisher-with-sets.ts';

export const ORIGINS: Origins = { keyServer: 'https://keys.bench.example', reading: 'https://read.bench.example' };

export function configIn(folder: string): KeyServerConfig {
  const listen = { host: '127.0.0.1', port: 0 };
  return {
    ...{ dev: true, listen, reading: { listen, documents: { listen, inBrowser: false } } },
    ...{ data: join(folder, 'keyserver.db'), masterKey: join(folder, 'master.key') },
    publicKey: join(folder, 'keyserver.pub'),
  };
}

/** A publisher. `importOf` hands a bundle over, each with the next serial. @param origins - which readers are to use */
export async function importer(state: KeyServerState, origins: Origins = ORIGINS) {
  const publisher = await createPublisher([]);
  const now = state.now();
  let serial = 1;
  const importOf = async (sets: readonly NamedKey[], periods: readonly NamedKey[]) => {
    const bundle = {
      periods: periods.map((period) => periodOf(period, now)),
      sets: sets.map(({ id, key }, day) => ({ id, key: toBase64url(key), name: `day-${day}`, site: SITE })),
    };
    const about = { ...origins, content: `https://${SITE}`, serial: serial++, bundle, withoutTimestampKey: true };
    await importBundle(state, await sealBundle(publisher, state.recipient.publicKey, about), origins);
  };
  return { publisherId: publisher.root.id, importOf };
}

function periodOf({ id, key }: NamedKey, now: number): BundledPeriod {
  return {
    id,
    key: toBase64url(key),
    plan: 'daily',
    sets: ['day-*'],
    site: SITE,
    from: now,
    until: now + 86_400,
    zone: 'UTC',
  };
}

export async function fresh(kind: KeyKind): Promise<NamedKey> {
  const key = randomBytes(32);
  return { id: await keyIdOf(kind, key), key };
}

/** Returns bytes of the database, and of its log if it is open. */
export async function sizeOf(folder: string): Promise<number> {
  const [database, log] = await Promise.all([
    stat(join(folder, 'keyserver.db')),
    stat(join(folder, 'keyserver.db-wal')).catch(() => undefined),
  ]);
  return database.size + (log?.size ?? 0);
}

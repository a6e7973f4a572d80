/** A key server in a folder, in this process, and the bundles that a publisher brings it. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ed25519KeyPair, randomBytes } from '#primitives';
import { type KeyKind, keyIdOf } from '../core/crypto/key-id.ts';
import { toBase64url } from '../core/encoding/base64url.ts';
import { type BundledPeriod, encodeBundle } from '../core/keys/bundle.ts';
import { encodeDescriptor } from '../core/keys/descriptor.ts';
import type { NamedKey } from '../core/keys/wrapped-key.ts';
import { rootIdOf } from '../core/publication/writer.ts';
import type { KeyServerConfig } from '../keyserver/config/config.ts';
import { importBundle, type Origins } from '../keyserver/publication/import-bundle.ts';
import type { KeyServerState } from '../keyserver/storage/state.ts';

const SITE = 'bench.example';
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
  const publisher = ed25519KeyPair(randomBytes(32));
  const root = randomBytes(64);
  const [publisherId, workspace] = [await rootIdOf(root), toBase64url(randomBytes(16))];
  const { keyServer, reading } = origins;
  const now = state.now();
  const sites = [{ content: ['https://bench.example'], reading, site: SITE }];
  const about = { expires: now + 86_400, issued: now, keyServer, name: 'bench', root: publisherId, sites };
  const descriptor = encodeDescriptor(
    { ...about, publisherKey: toBase64url(publisher.publicKey) },
    publisher.secretKey,
  );
  let serial = 1;
  const importOf = async (sets: readonly NamedKey[], periods: readonly NamedKey[]) => {
    const bundle = {
      descriptor: toBase64url(descriptor),
      periods: periods.map((period) => periodOf(period, now)),
      root: toBase64url(root),
      sets: sets.map(({ id, key }, day) => ({ id, key: toBase64url(key), name: `day-${day}`, site: SITE })),
    };
    const header = { issued: now, serial: serial++, workspace };
    await importBundle(state, await encodeBundle(bundle, header, state.recipient.publicKey, publisher), origins);
  };
  return { publisherId, importOf };
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

/** Of the database, and of its log if it is open. */
export async function sizeOf(folder: string): Promise<number> {
  const [database, log] = await Promise.all([
    stat(join(folder, 'keyserver.db')),
    stat(join(folder, 'keyserver.db-wal')).catch(() => undefined),
  ]);
  return database.size + (log?.size ?? 0);
}

/** tuf-js, as a reader and, with its models, as a writer of repositories. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Key, Metadata, MetaFile, Root, Signature, Snapshot, TargetFile, Targets, Timestamp } from '@tufjs/models';
import { Updater } from 'tuf-js';

/** Result of a peer for a target: `null` where the repository has none. */
export type PeerTarget =
  | null
  | { readonly sha256: string }
  | { readonly head: string; readonly length: number; readonly custom: unknown }
  | { readonly error: string };

export interface PeerReading {
  /** The name of the error that ended it. */
  readonly refresh: string | null;
  readonly targets: Record<string, PeerTarget>;
}

export interface PeerRequest {
  readonly folder: string;
  readonly metadataUrl: string;
  readonly targetsUrl: string;
  /** The first root. */
  readonly root: Uint8Array;
  readonly names: readonly string[];
}

export async function readWithTufJs({
  folder,
  metadataUrl,
  targetsUrl,
  root,
  names,
}: PeerRequest): Promise<PeerReading> {
  const own = mkdtempSync(join(folder, 'tuf-js-'));
  const [metadataDir, targetDir] = [join(own, 'metadata'), join(own, 'targets')];
  for (const directory of [metadataDir, targetDir]) mkdirSync(directory);
  writeFileSync(join(metadataDir, 'root.json'), root);
  const options = { metadataDir, targetDir, metadataBaseUrl: metadataUrl, targetBaseUrl: targetsUrl };
  const updater = new Updater({ ...options, config: { fetchRetries: 0 } });
  try {
    await updater.refresh();
  } catch (error) {
    return { refresh: (error as Error).name, targets: {} };
  }
  const targets: Record<string, PeerTarget> = {};
  for (const name of names) targets[name] = await downloadWith(updater, name);
  return { refresh: null, targets };
}

async function downloadWith(updater: Updater, name: string): Promise<PeerTarget> {
  try {
    const info = await updater.getTargetInfo(name);
    if (info === undefined) return null;
    const { hashes, length, custom } = info;
    if (name.endsWith('.protected')) return { head: hashes.sha256 ?? '', length, custom };
    return { sha256: hash(readFileSync(await updater.downloadTarget(info))) };
  } catch (error) {
    return { error: (error as Error).constructor.name };
  }
}

interface Signer {
  readonly key: Key;
  readonly secret: KeyObject;
}

/** A repository with succinct bins, in which every role needs two signatures; its files by name. */
export function writeWithTufJs(names: readonly string[]): Map<string, Uint8Array> {
  const [root, online, bins] = [signers(), signers(), signers()] as const;
  const files = new Map<string, Uint8Array>();
  const common = {
    version: 1,
    specVersion: '1.0.31',
    expires: new Date(Date.now() + 86_400_000).toISOString().replace(/\.\d+/, ''),
  };
  const put = (name: string, signed: Root | Targets | Snapshot | Timestamp, by: readonly Signer[]) => {
    const metadata = new Metadata(signed as Root);
    for (const { key, secret } of by.slice(0, 2))
      metadata.sign((data) => new Signature({ keyID: key.keyID, sig: sign(null, data, secret).toString('hex') }));
    const bytes = Buffer.from(JSON.stringify(metadata.toJSON()));
    files.set(`${name}.json`, bytes);
    return new MetaFile({ version: 1, length: bytes.length, hashes: { sha256: hash(bytes) } });
  };
  const rootRole = (by: readonly Signer[]) => ({ keyids: by.map(({ key }) => key.keyID), threshold: 2 });
  put(
    '1.root',
    Root.fromJSON({
      _type: 'root',
      version: 1,
      spec_version: '1.0.31',
      expires: common.expires,
      consistent_snapshot: true,
      keys: Object.fromEntries([...root, ...online].map(({ key }) => [key.keyID, key.toJSON()])),
      roles: {
        root: rootRole(root),
        timestamp: rootRole(online),
        snapshot: rootRole(online),
        targets: rootRole(online),
      },
    }),
    root,
  );
  const top = Targets.fromJSON({
    _type: 'targets',
    version: 1,
    spec_version: '1.0.31',
    expires: common.expires,
    targets: {},
    delegations: {
      keys: Object.fromEntries(bins.map(({ key }) => [key.keyID, key.toJSON()])),
      succinct_roles: { ...rootRole(bins), bit_length: 4, name_prefix: 'bin' },
    },
  });
  const succinct = top.delegations?.succinctRoles;
  if (succinct === undefined) throw new Error('no bins');
  const meta: Record<string, MetaFile> = { 'targets.json': put('1.targets', top, online) };
  for (const bin of succinct.getRoles()) {
    const targets = new Targets(common);
    for (const name of names.filter((one) => succinct.getRoleForTarget(one) === bin))
      targets.addTarget(
        new TargetFile({ path: name, length: name.length, hashes: { sha256: hash(Buffer.from(name)) } }),
      );
    meta[`${bin}.json`] = put(`1.${bin}`, targets, bins);
  }
  const snapshotMeta = put('1.snapshot', new Snapshot({ ...common, meta }), online);
  put('timestamp', new Timestamp({ ...common, snapshotMeta }), online);
  return files;
}

function signers(): readonly Signer[] {
  return [1, 2, 3].map(() => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex');
    const keyVal = { public: raw };
    return {
      secret: privateKey,
      key: new Key({ keyID: hash(Buffer.from(raw)), keyType: 'ed25519', scheme: 'ed25519', keyVal }),
    };
  });
}

function hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

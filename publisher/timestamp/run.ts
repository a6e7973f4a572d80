/** Who signs timestamps: the workspace, with all its keys, or a machine with a key file that holds this one key. */
import { join, resolve } from 'node:path';
import type { RoleSigner } from '../../core/publication/keys.ts';
import { METADATA_PATH } from '../../core/publication/names.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { readConfiguration } from '../configuration/read.ts';
import { PublishError } from '../errors.ts';
import { openKeyStore } from '../keys/key-store.ts';
import { readSigningKeys } from '../keys/signer-file.ts';
import { openSigningKeys } from '../keys/signing-keys.ts';
import { readLastPublished, rememberPublished } from '../last-published.ts';
import { explainUnknownSigner } from '../protect/older-keys.ts';
import { metadataIn, type OwnMetadata } from '../publication/places.ts';
import {
  type LastPublished,
  type Place,
  placesToWithdraw,
  withNews,
  withTelling,
  withTimestamp,
  withWithdrawn,
} from '../published-places.ts';
import { readKeyStore, type Workspace, withLock, workspaceOf } from '../workspace.ts';
import { lastSeenAfter, lastSeenFile, readLastSeen, writeLastSeen } from './last-seen.ts';
import { type SignedTimestamp, signTimestamp, type TimestampOptions, withdrawVersion } from './sign-timestamp.ts';

export interface TimestampRun {
  /** Where the key is: in a workspace, by its `wispr.json`, or in a file made by `wispr keys export timestamp`. */
  readonly from: { readonly configurationFile: string } | { readonly keyFile: string; readonly directory: string };
  readonly passphrase: string;
  /** The version to withdraw; without it, the publication is confirmed. */
  readonly withdraw?: number | undefined;
  /** What it is for in place of the files of the workspace. */
  readonly own?: OwnMetadata | undefined;
  /** The SHA-256 of the snapshot that was chosen. */
  readonly snapshot?: string | undefined;
  /** Who is to have it afterwards: until they do, they owe what it withdraws. */
  readonly bringing?: Bringing | undefined;
  readonly now?: number;
}

/** Who is to have what is signed. */
export interface Bringing {
  readonly places: readonly Place[];
  /** Whether the key server may have what is withdrawn. */
  readonly keyServer: boolean;
  /** Whether it is told by this run. */
  readonly tells: boolean;
  /** What was known when it was looked around: who appeared since is to have it too. */
  readonly known?: { readonly places: readonly Place[]; readonly told: number } | undefined;
}

const TO_NOBODY: Bringing = { places: [], keyServer: false, tells: false };

/**
 * Signs a timestamp, or withdraws a version.
 *
 * @throws PublishError, PublicationError; nothing was changed then, but that it may be remembered what was to be withdrawn
 */
export function runTimestamp(run: TimestampRun): Promise<SignedTimestamp> {
  return 'keyFile' in run.from ? runWithKeyFile(run, run.from) : runInWorkspace(run, run.from.configurationFile);
}

/** The directory of the metadata of a workspace's output. */
export async function metadataDirectory(configurationFile: string): Promise<string> {
  const { out } = await readConfiguration(configurationFile);
  return metadataBelow(workspaceOf(configurationFile), out);
}

function metadataBelow({ directory }: Workspace, out: string): string {
  return join(resolve(directory, out), METADATA_PATH);
}

async function runInWorkspace(run: TimestampRun, configurationFile: string): Promise<SignedTimestamp> {
  const workspace = workspaceOf(configurationFile);
  const { out, freshness } = await readConfiguration(workspace.configuration);
  const own = run.own ?? metadataIn(metadataBelow(workspace, out));
  return withLock(workspace, async () => {
    const store = await openKeyStore(await readKeyStore(workspace), run.passphrase);
    const { signers, rootId } = store;
    const freshFor = freshness.hours * 3600;
    const remembered = await readLastPublished(workspace);
    const beforeUse = (signed: SignedTimestamp) => remember(workspace, signed, run);
    const options = { own, signer: signers.timestamp, rootId, freshFor, remembered, beforeUse, snapshot: run.snapshot };
    return perform(run, { ...options, now: run.now ?? nowInSeconds() }).catch((error: unknown) =>
      explainUnknownSigner(error, resolve(workspace.directory, out), async () => store),
    );
  });
}

/** First: whatever ends the run then, what was withdrawn is not shown again, and it is known who has not heard of it. */
async function remember(
  workspace: Workspace,
  { before, publication, version }: SignedTimestamp,
  { withdraw, bringing = TO_NOBODY }: TimestampRun,
): Promise<void> {
  await rememberPublished(workspace, (last) => {
    const signed = withTimestamp(withNews(last, { elsewhere: [before] }), publication, version);
    const told = bringing.tells ? withTelling(signed, publication) : signed;
    return withdraw === undefined ? told : withWithdrawn(told, withdraw, owingBy(last, withdraw, bringing));
  });
}

/** Nobody held the lock while others were looked at. */
function owingBy(last: LastPublished, version: number, { places, keyServer, known }: Bringing) {
  if (known === undefined) return { places, keyServer };
  const appeared = placesToWithdraw(last, version).filter((target) => !known.places.includes(target));
  const { told } = last.keyServer;
  return { places: [...places, ...appeared], keyServer: keyServer || (told > known.told && told >= version) };
}

async function runWithKeyFile(
  run: TimestampRun,
  { keyFile, directory }: { keyFile: string; directory: string },
): Promise<SignedTimestamp> {
  const keys = await openSigningKeys(await readSigningKeys(keyFile), run.passphrase, keyFile);
  const last = await readLastSeen(lastSeenFile(keyFile));
  const signer = onlySigner(keys.signers, keyFile);
  const now = run.now ?? nowInSeconds();
  const signed = await perform(run, { own: metadataIn(directory), signer, rootId: keys.rootId, last, now });
  const { publication, version: timestamp, withdrawn: named } = signed;
  const just = { key: signer.keyid, publication, timestamp, named, withdraw: run.withdraw };
  await writeLastSeen(lastSeenFile(keyFile), lastSeenAfter(last, just));
  return signed;
}

function perform({ withdraw }: TimestampRun, options: TimestampOptions): Promise<SignedTimestamp> {
  return withdraw === undefined ? signTimestamp(options) : withdrawVersion(withdraw, options);
}

function onlySigner(signers: readonly RoleSigner[], keyFile: string): RoleSigner {
  const [signer] = signers;
  if (signer !== undefined && signers.length === 1) return signer;
  throw new PublishError('signer-unknown', `${keyFile} does not hold one key`);
}

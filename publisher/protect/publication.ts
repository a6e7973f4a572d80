/**
 * Signs what changed since the last publication, and makes it visible: docs/spec/publication.md, sections 2 to 4 and 8. Whatever did not
 * change keeps its file. The timestamp comes last, and is the one file that is replaced.
 */
import { join } from 'node:path';
import { hexDigest } from '../../core/encoding/digest.ts';
import { DOCUMENTS_ROLE } from '../../core/publication/bins.ts';
import type { RoleExpiry } from '../../core/publication/hand-over.ts';
import { METADATA_PATH, metadataFile, TIMESTAMP_FILE } from '../../core/publication/names.ts';
import {
  binMetadata,
  type FileFacts,
  ROLE_VALIDITY,
  signMetadata,
  snapshotMetadata,
} from '../../core/publication/writer.ts';
import { checkSignedInPast } from '../authority/authority.ts';
import { LocalAuthority, stateInIndex } from '../authority/local-authority.ts';
import { readIfThere } from '../keys/file-update.ts';
import type { RoleRow } from '../workspace/index/schema.ts';
import { timestampIn } from './published.ts';
import type { PublicationContext } from './run.ts';
import { checkSectionFits } from './sections.ts';
import {
  contentsToSign,
  planSigning,
  putTargets,
  type SigningPlan,
  type SigningReason,
  signersOf,
  targetFacts,
  targetsBetween,
} from './signing-plan.ts';
import { replaceOutputFile } from './writers/files.ts';

export interface PublicationSummary {
  /** Of the publication that is visible now. */
  readonly version: number;
  /** Whether it differs from the one before. */
  readonly isNew: boolean;
  /** Why it is new, besides documents that changed. */
  readonly reasons: readonly SigningReason[];
  /** Its snapshot, as a timestamp names it. */
  readonly snapshot: FileFacts;
  /** How many metadata files were signed, the timestamp among them. */
  readonly signed: number;
  /** Bytes of all metadata files that readers of it may ask for. */
  readonly bytes: number;
  /** When each role expires; of the bins, the first. */
  readonly expires: readonly RoleExpiry[];
}

/**
 * Makes the state that the index describes the current publication.
 *
 * @throws PublishError `output-failed`
 */
export async function publish(context: PublicationContext): Promise<PublicationSummary> {
  await putTargets(context);
  const plan = await planSigning(context);
  const { version, signed } = plan.snapshot
    ? await signPublication(context, plan)
    : { version: Number(context.index.fact('version')), signed: 0 };
  await putRoots(context); // a new one may end the trust in what the old timestamp names: nothing comes between the two
  const snapshot = plan.roles.get('snapshot');
  if (snapshot === undefined) throw new Error('every publication has a snapshot');
  const timestamp = context.signsTimestamp ? await signTimestamp(context, snapshot) : undefined;
  retireMetadata(context, plan.roles);
  return {
    version,
    isNew: plan.snapshot,
    reasons: plan.reasons,
    snapshot: { version: snapshot.version, length: snapshot.length, sha256: snapshot.sha256 },
    signed: signed + (timestamp ? 1 : 0),
    bytes: sumOf([...plan.roles.values(), ...context.roles.roots, ...(timestamp ? [timestamp] : [])]),
    expires: [
      ...expiries(context, plan.roles),
      ...(timestamp ? [{ role: 'timestamp', expires: timestamp.expires }] : []),
    ],
  };
}

function sumOf(files: readonly { readonly length: number }[]): number {
  return files.reduce((sum, { length }) => sum + length, 0);
}

/** Signs everything but the timestamp, which makes it visible. */
async function signPublication(
  context: PublicationContext,
  plan: SigningPlan,
): Promise<{ version: number; signed: number }> {
  const { index, keys, roles, now } = context;
  const version = Math.max(keys.contents.publication, index.roles().get('snapshot')?.version ?? 0) + 1;
  await keys.change({ ...keys.contents, publication: version }); // on the disk before anything with it is signed
  const about = { version, expires: now + ROLE_VALIDITY.targets };
  let signed = 0;
  const put = async (name: string, bytes: Uint8Array, expires = about.expires) => {
    replaceOutputFile(metadataPlace(context, metadataFile(name, version)), bytes);
    plan.roles.set(name, { name, version, length: bytes.length, sha256: await hexDigest(bytes), expires });
    signed++;
  };
  for await (const [name, content] of contentsToSign(context, plan, about))
    await put(name, signMetadata(content, roles.targets));
  for (const section of plan.sections) {
    const content = binMetadata(about, targetsBetween(index, section.number, section.number));
    checkSectionFits(section, content);
    await put(section.name, signMetadata(content, section.signers));
  }
  // No list leads there any more, so it is all the same who signs.
  for (const name of plan.orphans) await put(name, signMetadata(binMetadata(about, []), [roles.snapshot]));
  const files = [...plan.roles.values()]
    .filter(({ name }) => name !== 'snapshot')
    .map((row) => [row.name, row] as const);
  const expires = now + ROLE_VALIDITY.snapshot;
  await put('snapshot', signMetadata(snapshotMetadata({ version, expires }, files), [roles.snapshot]), expires);
  index.storePublication(plan.roles.values(), {
    bins: String(plan.bits),
    version: String(version),
    signers: signersOf(context),
    targets: await targetFacts(context),
    sections: context.sections.factAfter(new Set(plan.sections.map(({ name }) => name)), keys.store.publisher.id),
  });
  return { version, signed };
}

async function putRoots(context: PublicationContext): Promise<void> {
  for (const [number, bytes] of context.roles.roots.entries()) {
    const place = metadataPlace(context, metadataFile('root', number + 1));
    if (!(await readIfThere(place))?.equals(bytes)) replaceOutputFile(place, bytes);
  }
}

async function signTimestamp(
  context: PublicationContext,
  snapshot: RoleRow,
): Promise<{ expires: number; length: number }> {
  const { index, roles, out, now, freshFor } = context;
  const authority = new LocalAuthority({
    state: stateInIndex(index),
    signer: roles.timestamp,
    freshFor,
    now: () => now,
  });
  const shown = await timestampIn(out, roles.root);
  if (shown) {
    checkSignedInPast(shown.timestamp, now, out);
    await authority.learn(shown);
  }
  const bytes = await authority.confirm({ file: snapshot });
  replaceOutputFile(metadataPlace(context, TIMESTAMP_FILE), bytes, { sync: true });
  return { expires: now + freshFor, length: bytes.length };
}

/** Metadata files that the last snapshot does not name any more. */
function retireMetadata({ index, output, roles }: PublicationContext, rows: ReadonlyMap<string, RoleRow>): void {
  const current = new Set([...rows.values()].map(({ name, version }) => metadataFile(name, version)));
  for (const number of roles.roots.keys()) current.add(metadataFile('root', number + 1));
  index.transaction(() => {
    for (const name of output.metadata) {
      if (name !== TIMESTAMP_FILE && !current.has(name)) index.retire(METADATA_PATH + name, false);
    }
  });
}

function expiries({ roles, sections }: PublicationContext, rows: ReadonlyMap<string, RoleRow>): RoleExpiry[] {
  const bins = [...rows.values()].filter(({ name, expires }) => name.startsWith(`${DOCUMENTS_ROLE}-`) && expires > 0);
  const expiryOf = (role: string) => ({ role, expires: rows.get(role)?.expires ?? 0 });
  const first = bins.reduce((least, { expires }) => Math.min(least, expires), Number.POSITIVE_INFINITY);
  return [
    { role: 'root', expires: roles.root.expires },
    expiryOf('targets'),
    expiryOf('documents'),
    ...sections.list.map(({ name }) => expiryOf(name)),
    { role: 'bins', expires: first },
    expiryOf('snapshot'),
  ];
}

function metadataPlace({ out }: PublicationContext, name: string): string {
  return join(out, METADATA_PATH, name);
}

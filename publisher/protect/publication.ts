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
import { heldFact, heldIn, release } from '../publication/held.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { RoleRow } from '../workspace/index/schema.ts';
import { timestampIn } from './published.ts';
import type { PublicationRoles } from './roles.ts';
import { checkSectionFits, type RunSections } from './sections.ts';
import {
  contentsToSign,
  type Signing,
  type SigningPlan,
  type SigningReason,
  signersOf,
  targetFacts,
  targetsBetween,
  writeTargets,
} from './signing-plan.ts';
import { replaceOutputFile } from './writers/files.ts';

export interface PublicationSummary {
  /** Number of the publication that is visible now. */
  readonly version: number;
  readonly isNew: boolean;
  /** Reasons for a new one, besides documents that changed. */
  readonly reasons: readonly SigningReason[];
  /** Snapshot, as a timestamp names it. */
  readonly snapshot: FileFacts;
  /** Number of metadata files that were signed, the timestamp among them. */
  readonly signed: number;
  /** Bytes of all metadata files that readers of it may ask for. */
  readonly bytes: number;
  readonly expires: readonly RoleExpiry[];
}

/** Seconds for which a timestamp that this run signs is good; `undefined`: `wispr publish` has it signed. */
export type TimestampWish = { readonly freshFor: number } | undefined;

/** Makes the state that the index describes the current publication. @throws PublishError `output-failed` */
export async function publish(signing: Signing, plan: SigningPlan, wish: TimestampWish): Promise<PublicationSummary> {
  const { index, out, roles, sections, output } = signing;
  await writeTargets(signing);
  const { version, signed } = plan.snapshot
    ? await signPublication(signing, plan)
    : { version: Number(index.fact('version')), signed: 0 };
  await writeRoots(out, roles.roots); // a new one may end the trust in what the old timestamp names: nothing comes between the two
  const snapshot = plan.roles.get('snapshot');
  if (snapshot === undefined) throw new Error('every publication has a snapshot');
  const timestamp = wish && (await signTimestamp(signing, wish.freshFor, snapshot));
  if (timestamp) release(index, version);
  retireMetadata(index, output.metadata, roles.roots.length, plan.roles);
  const files = [...plan.roles.values(), ...roles.roots, ...(timestamp ? [timestamp] : [])];
  return {
    version,
    isNew: plan.snapshot,
    reasons: plan.reasons,
    snapshot: { version: snapshot.version, length: snapshot.length, sha256: snapshot.sha256 },
    signed: signed + (timestamp ? 1 : 0),
    bytes: files.reduce((sum, { length }) => sum + length, 0),
    expires: [
      ...expiries(roles, sections, plan.roles),
      ...(timestamp ? [{ role: 'timestamp', expires: timestamp.expires }] : []),
    ],
  };
}

/** Signs everything but the timestamp, which makes it visible. */
async function signPublication(signing: Signing, plan: SigningPlan): Promise<{ version: number; signed: number }> {
  const { index, keys, roles, sections, now, out, ownTargets } = signing;
  const before = index.roles().get('snapshot')?.version ?? 0;
  const version = Math.max(keys.contents.publication, before) + 1;
  await keys.change({ ...keys.contents, publication: version }); // reaches the disk before anything with it is signed
  const about = { version, expires: now + ROLE_VALIDITY.targets };
  let signed = 0;
  const put = async (name: string, bytes: Uint8Array, expires = about.expires) => {
    replaceOutputFile(join(out, METADATA_PATH, metadataFile(name, version)), bytes);
    plan.roles.set(name, { name, version, length: bytes.length, sha256: await hexDigest(bytes), expires });
    signed++;
  };
  for await (const [name, content] of contentsToSign(signing, plan, about))
    await put(name, signMetadata(content, roles.targets));
  for (const section of plan.sections) {
    const content = binMetadata(about, targetsBetween(index, section.number, section.number));
    checkSectionFits(section, content);
    await put(section.name, signMetadata(content, section.signers));
  }
  // Lists do not lead there any more, so it is all the same which key signs.
  for (const name of plan.orphans) await put(name, signMetadata(binMetadata(about, []), [roles.snapshot]));
  const files = [...plan.roles.values()]
    .filter(({ name }) => name !== 'snapshot')
    .map((row) => [row.name, row] as const);
  const expires = now + ROLE_VALIDITY.snapshot;
  await put('snapshot', signMetadata(snapshotMetadata({ version, expires }, files), [roles.snapshot]), expires);
  const held = heldIn(index);
  const until = signing.heldUntil ?? held.get(before); // the snapshot may have the text of the one before
  index.storePublication(plan.roles.values(), {
    ...(until !== undefined && { held: heldFact(new Map([...held, [version, until]])) }),
    bins: String(plan.bits),
    version: String(version),
    signers: signersOf(roles),
    targets: await targetFacts(sections, ownTargets),
    sections: sections.factAfter(new Set(plan.sections.map(({ name }) => name)), keys.store.publisher.id),
  });
  return { version, signed };
}

async function writeRoots(out: string, roots: readonly Uint8Array[]): Promise<void> {
  for (const [number, bytes] of roots.entries()) {
    const file = join(out, METADATA_PATH, metadataFile('root', number + 1));
    if (!(await readIfThere(file))?.equals(bytes)) replaceOutputFile(file, bytes);
  }
}

async function signTimestamp(
  { index, roles, out, now }: Signing,
  freshFor: number,
  snapshot: RoleRow,
): Promise<{ expires: number; length: number }> {
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
  replaceOutputFile(join(out, METADATA_PATH, TIMESTAMP_FILE), bytes, { sync: true });
  return { expires: now + freshFor, length: bytes.length };
}

function retireMetadata(
  index: PublisherIndex,
  there: Iterable<string>,
  roots: number,
  rows: ReadonlyMap<string, RoleRow>,
): void {
  const current = new Set([...rows.values()].map(({ name, version }) => metadataFile(name, version)));
  for (let number = 1; number <= roots; number++) current.add(metadataFile('root', number));
  index.transaction(() => {
    for (const name of there) {
      if (name !== TIMESTAMP_FILE && !current.has(name)) index.retire(METADATA_PATH + name, false);
    }
  });
}

function expiries(roles: PublicationRoles, sections: RunSections, rows: ReadonlyMap<string, RoleRow>): RoleExpiry[] {
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

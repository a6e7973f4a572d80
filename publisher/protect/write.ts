/** The third phase of `wispr protect`: carries the plan out, in the order of docs/spec/publication.md, section 8. */
import { join } from 'node:path';
import { utf8 } from '../../core/encoding/bytes.ts';
import { hostProofLine } from '../../core/keys/descriptor.ts';
import { ownTargetsOf } from '../../core/publication/names.ts';
import { encodeSettings } from '../../core/publication/settings.ts';
import { DESCRIPTOR_PATH, HOST_PROOF_PATH } from '../../core/site/well-known.ts';
import { bootId } from '../../node-support/boot.ts';
import { recordKeyStore } from '../keys/note-key-store.ts';
import { pruneOutput, putIfDifferent, removeFiles } from './files.ts';
import { currentEnvelopes, type SecuredKeys, secureKeys } from './keys.ts';
import type { Inspected, Planned, Progress } from './phases.ts';
import { type PublicationSummary, publish } from './publication.ts';
import { writeReadingSite } from './reading-site.ts';
import { checkSigners, planSigning, type Signing, type SigningPlan } from './signing-plan.ts';
import { placeDocuments, type TasksDone, writeDocuments } from './tasks.ts';
import { DocumentWriters } from './writers/writers.ts';

export interface WriteOptions {
  /** Tells whether new keys were asked for by name. */
  readonly isRekeyAsked: boolean;
  /** Tells whether the timestamp is signed here; otherwise `wispr publish` has it signed, once the files are where readers look for them. */
  readonly signsTimestamp: boolean;
  /** Seconds since 1970; `undefined`: it is not held back. */
  readonly heldUntil: number | undefined;
  readonly onProgress: ((progress: Progress) => void) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly checkNotStopped: () => void;
}

export interface Done {
  readonly secured: SecuredKeys;
  readonly tasks: TasksDone;
  readonly publication: PublicationSummary;
  readonly keyFiles: number | undefined;
  readonly pruned: number;
}

/** @throws PublishError; the publication that was visible before is then as it was */
export async function write(inspected: Inspected, planned: Planned, options: WriteOptions): Promise<Done> {
  const { location, index, keys, output, roles, sections } = inspected;
  const { workspace, configuration, out, now } = location;
  const { plan, settings } = planned;
  // The host proof first: it tells the next run whose the directory is, should this one be interrupted.
  await putIfDifferent(join(out, HOST_PROOF_PATH), utf8(`${hostProofLine(roles.rootId)}\n`));
  removeFiles(out, output.unfinished); // files that an interrupted run had begun
  index.transaction(() => {
    index.setFact('publisher', keys.store.publisher.id);
    index.setFact('root', roles.rootId);
  });
  const settingsBytes = encodeSettings(settings);
  const secured = await secureKeys(inspected, plan.sets.keys(), settingsBytes, options.isRekeyAsked);
  const { descriptor } = secured;
  const ownTargets = [
    ...ownTargetsOf({ descriptor, settings: settingsBytes }),
    ...(await currentEnvelopes(index, keys, now)),
  ];
  const { heldUntil } = options;
  const signing = { index, keys, output, roles, sections, out, now, ownTargets, heldUntil };
  const { tasks, signingPlan } = await writeAndPlace(inspected, plan.documents, signing, options);
  await putIfDifferent(join(out, DESCRIPTOR_PATH), descriptor);
  const keyFiles = await writeReadingSite({ configuration, out, contents: keys.contents, rootId: roles.rootId, now });
  const freshFor = configuration.freshness.hours * 3600;
  const publication = await publish(signing, signingPlan, options.signsTimestamp ? { freshFor } : undefined);
  if (location.only === undefined) {
    index.setFact('boot', bootId());
    index.setFact('whole', inspected.settings);
    const { states, gone } = output.directories.changed();
    index.storeDirectories(states, gone);
  }
  await recordKeyStore(index, workspace);
  const replacing = { now, signedAt: now, freshFor, grace: settings.grace };
  const { timestampBy, keyServerTokenFile } = configuration;
  const isConfirmed = options.signsTimestamp && (timestampBy === 'publisher' || keyServerTokenFile === undefined);
  const pruned = isConfirmed ? await pruneOutput(out, index, replacing) : 0; // the key server confirms otherwise, once `wispr publish` asks it
  return { secured, tasks, publication, keyFiles, pruned };
}

async function writeAndPlace(
  inspected: Inspected,
  documents: number,
  signing: Signing,
  { onProgress, signal, checkNotStopped }: WriteOptions,
): Promise<{ readonly tasks: TasksDone; readonly signingPlan: SigningPlan }> {
  const { location, index, keys, roles, appearance } = inspected;
  const { out, configuration } = location;
  const total = index.countTasks();
  const sets = new Map(keys.sets().map(({ id, key }) => [id, key]));
  const { publisher } = keys.store;
  const writers = new DocumentWriters({ out, site: configuration.site, publisher, sets }, signal);
  const onDone = (done: number) => onProgress?.({ stage: 'writing', done, total });
  try {
    onDone(0);
    const tasks = await writeDocuments(inspected, writers, onDone);
    checkNotStopped();
    const signingPlan = await planSigning(signing);
    checkSigners(roles, signingPlan); // browsers are shown no pages of a publication that cannot be signed
    if (documents > 0) await placeDocuments(index, appearance, writers);
    return { tasks, signingPlan };
  } finally {
    await writers.close();
  }
}

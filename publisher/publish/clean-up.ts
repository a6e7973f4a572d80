/** Clean-up after a publication, at all targets and in `out`: targets that were looked at in part lose what `out` loses, others are listed. */
import type { Target } from '../../node-support/storage/target.ts';
import { pruneOutput, type Replacing, replacedTimes } from '../protect/files.ts';
import type { SnapshotPublication } from '../publication/signed.ts';
import { eachTarget } from './each-target.ts';
import { endedAt, type Pruned, pruneTarget } from './prune.ts';
import type { Site } from './site.ts';
import type { Uploaded } from './upload.ts';

/** Seconds after which no upload is still under way: what it left is removed. */
const LEFTOVER_AGE = 86_400;
/** Replaced publications that are noted for targets which could not be reached, or not be listed to the end. */
const NOTED = 1000;
/** Milliseconds for removing old files: the next run goes on. */
const PRUNING = 1_800_000;

/** Removes old files, at targets and in `out`. What readers find stays what it is, so being stopped is no failure here. */
export async function cleanUp(
  plans: ReadonlyMap<Target, Uploaded>,
  site: Site,
  publication: SnapshotPublication,
  {
    isOfIndex,
    removed,
    ...replacing
  }: Replacing & { readonly isOfIndex: boolean; readonly removed: readonly string[] },
): Promise<ReadonlyMap<Target, Pruned>> {
  const { signal, index, out } = site;
  const ending = AbortSignal.any([AbortSignal.timeout(PRUNING), ...(signal ? [signal] : [])]);
  const done = new Map<Target, { removed: number; waiting: number }>();
  const whole = [...plans.keys()].filter((target) => plans.get(target)?.part === undefined);
  const parts = [...plans.keys()].filter((target) => !whole.includes(target));
  for (const target of parts) done.set(target, { removed: 0, waiting: index.countRetired() });
  const removeAt = async (work: (target: Target) => Promise<readonly string[]>) => {
    const remove = async (target: Target) => {
      const files = await work(target);
      await target.remove(files);
      const counts = done.get(target);
      if (counts) counts.removed += files.length;
    };
    const { failures } = await eachTarget(parts, remove, { signal: ending });
    for (const { target } of failures) index.forgetTarget(target.name);
  };
  const removeEverywhere = async (files: readonly string[]) => {
    const reached = [...plans.keys()].map(({ name }) => name);
    for (const name of index.targets()) if (!reached.includes(name)) index.forgetTarget(name);
    await removeAt(async () => files);
  };
  try {
    if (isOfIndex) await pruneOutput(out, index, replacing, removeEverywhere);
    await removeAt(async (target) => [...removed, ...(await endedAt(target, (plans.get(target) as Uploaded).named))]);
    await pruneWhole(whole, plans, site, publication, replacing, ending, done);
  } catch (error) {
    if (!ending.aborted) throw error;
  }
  return done;
}

async function pruneWhole(
  targets: readonly Target[],
  plans: ReadonlyMap<Target, Uploaded>,
  { index }: Site,
  publication: SnapshotPublication,
  replacing: Replacing,
  ending: AbortSignal,
  done: Map<Target, Pruned>,
): Promise<void> {
  if (targets.length === 0) return;
  const { since, before } = replacedTimes(replacing);
  const known = new Map<number, number>(JSON.parse(index.fact('replaced') ?? '[]'));
  const seen = new Map<number, number>();
  const replacedAt = (version: number) => {
    const at = known.get(version) ?? since;
    seen.set(version, at);
    return at;
  };
  const work = async (target: Target) => {
    const { named } = plans.get(target) as Uploaded;
    done.set(target, await pruneTarget({ target, publication, named, replacedAt, before, signal: ending }));
    if (!ending.aborted) await target.removeLeftovers(Math.min(replacing.now, replacing.signedAt) - LEFTOVER_AGE);
  };
  try {
    await eachTarget(targets, work, { signal: ending });
  } finally {
    const elsewhere = [...known].filter(([version]) => !seen.has(version)).slice(-NOTED);
    index.setFact('replaced', JSON.stringify([...elsewhere, ...seen]));
  }
}

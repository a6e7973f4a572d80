/** `wispr protect --dry-run`: what a run would do. */
import { hexDigest } from '../../core/encoding/digest.ts';
import { encodeSettings, type SiteSettings } from '../../core/publication/settings.ts';
import { isOtherKeyStore } from '../keys/note-key-store.ts';
import { signedSettingsOf } from '../site/site-settings.ts';
import { openIndexReadOnly } from '../workspace/index/open.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import { appearanceOf } from './appearance.ts';
import { checkRekey, setsDueForRekey } from './keys.ts';
import { locate } from './location.ts';
import { inspectOutput } from './output.ts';
import { makePlan } from './plan.ts';
import { type DryRunOptions, stopper } from './protect.ts';
import { RunSections } from './sections.ts';
import { changedPaths, type DryRunSummary, summarisePlan } from './summary.ts';

/**
 * Says what a run would do, and changes nothing. It needs no passphrase, so it cannot see what is in the key store: only whether
 * that is as the last publication left it. Sections are planned as if their keys were here.
 *
 * @param limit - how many paths of each kind are named; all, if left out
 */
export async function planSite(options: DryRunOptions, limit?: number): Promise<DryRunSummary> {
  const location = await locate(options);
  const { workspace, configuration, walk, out, now } = location;
  using index = openIndexReadOnly(workspace.database);
  const checkNotStopped = stopper(options.signal);
  const publisher = index.fact('publisher') ?? '';
  const rootId = index.fact('root');
  const output = await inspectOutput(out, index, { rootId, nextRoot: 0, readOnly: true, checkNotStopped });
  const due = setsDueForRekey(configuration, index.keysSince(), now, options.rekey);
  const keysChanged = index.fact('publisher') !== undefined && (await isOtherKeyStore(index, workspace));
  const sections = await RunSections.of(configuration, index);
  const appearance = await appearanceOf(configuration, workspace.directory, publisher);
  const inspected = { index, output, sections, appearance, rekey: due };
  const plan = await makePlan({ ...inspected, walk, configuration, checkNotStopped, readOnly: true });
  const settings = signedSettingsOf(configuration, (path) => index.planned(path), rootId ?? '');
  checkRekey(options.rekey ?? [], plan.sets);
  return {
    ...summarisePlan(location, plan),
    settingsChanged: await areOthers(settings, index),
    indexLost: output.isEmpty ? undefined : index.lost,
    keysChanged,
    paths: changedPaths(index, limit ?? -1),
    sets: Array.from(plan.sets, ([name, documents]) => ({ name, documents })),
  };
}

/** Tells whether the publication before has other settings. Before the first one, none has. */
async function areOthers(settings: SiteSettings, index: PublisherIndex): Promise<boolean> {
  const published = index.fact('targets')?.split(' ');
  return published !== undefined && !published.includes(await hexDigest(encodeSettings(settings)));
}

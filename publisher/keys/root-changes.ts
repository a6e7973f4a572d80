/** What a new root changes, in plain words: what a signer is shown before signing. */
import type { RootMetadata, TopLevelRole } from '../../core/publication/metadata.ts';
import { isoTime } from '../../core/publication/verify-roles.ts';
import { signingId, TOP_LEVEL_ROLES } from './roots.ts';

/** One line for each change; the expiry is always one. */
export function describeChanges(before: RootMetadata, after: RootMetadata): string[] {
  const [old, now] = [dayOf(before), dayOf(after)];
  return [
    ...TOP_LEVEL_ROLES.flatMap((role) => changesOf(role, before, after)),
    `good until ${now}${old === now ? '' : ` (before: ${old})`}`,
  ];
}

function dayOf({ expires }: RootMetadata): string {
  return isoTime(expires).slice(0, 10);
}

function changesOf(role: TopLevelRole, before: RootMetadata, after: RootMetadata): string[] {
  const [old, now] = [before.roles[role], after.roles[role]];
  const added = now.keyids.filter((keyid) => !old.keyids.includes(keyid));
  const removed = old.keyids.filter((keyid) => !now.keyids.includes(keyid));
  return [
    ...added.map((keyid) => `${role}: the key ${signingId(keyid)} may sign from now on`),
    ...removed.map((keyid) => `${role}: the key ${signingId(keyid)} may not sign any more`),
    ...(old.threshold === now.threshold
      ? []
      : [`${role}: ${now.threshold} of ${now.keyids.length} keys have to sign (before: ${old.threshold})`]),
  ];
}

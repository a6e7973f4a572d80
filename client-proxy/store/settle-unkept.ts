/**
 * Two processes, each of which has verified something: one could not write, the other did later. Neither may take back what the other has seen.
 * What is compared here has been verified by whoever wrote it, and is verified again when it is read.
 */
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { encodeWithdrawals, joinWithdrawals, parseWithdrawals } from '../../core/publication/withdrawals.ts';

const WITHDRAWN = /(?:^| )wispr:withdrawn$/;
/** The first in which they differ decides. */
const COMPARED = ['root', 'timestamp'] as const;

/**
 * Drops from `files` those of every publisher of whom the database has no less new: a publication's files belong together. What either knows to
 * be withdrawn stays so.
 *
 * @param files - by `root-id name`; changed in place
 * @param before - what the database had when the first of them could not be written, of what changes with every publication
 * @param now - the same of today
 */
export function settleUnkept(files: Map<string, Uint8Array>, before: Files, now: Files): void {
  const publishers = new Set([...files.keys()].map(publisherOf));
  for (const publisher of publishers) {
    const isNewer = isNewerThan(publisher, (name) => files.get(name) ?? before.get(name), now);
    for (const [name, bytes] of files) {
      if (publisherOf(name) !== publisher) continue;
      if (WITHDRAWN.test(name)) files.set(name, joined(bytes, now.get(name)));
      else if (!isNewer) files.delete(name);
    }
  }
}

type Files = ReadonlyMap<string, Uint8Array>;

function isNewerThan(publisher: string, ours: Files['get'], theirs: Files): boolean {
  for (const role of COMPARED) {
    const name = publisher + role;
    const difference = versionIn(ours(name)) - versionIn(theirs.get(name));
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** What stands before the name of a role, with the space. */
function publisherOf(name: string): string {
  return name.slice(0, name.indexOf(' ') + 1);
}

/** 0 where there is none. */
function versionIn(bytes: Uint8Array | undefined): number {
  try {
    const { signed } = JSON.parse(fromUtf8(bytes ?? new Uint8Array(0)) ?? '') as { signed?: { version?: unknown } };
    return Number.isSafeInteger(signed?.version) ? Number(signed?.version) : 0;
  } catch {
    return 0;
  }
}

function joined(ours: Uint8Array, theirs: Uint8Array | undefined): Uint8Array {
  return encodeWithdrawals(
    joinWithdrawals([...parseWithdrawals(ours), ...parseWithdrawals(theirs ?? new Uint8Array(0))]),
  );
}

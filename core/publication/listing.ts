/** Lists the documents of a publication, for readers that keep a site, or a part of it. */
import { binNames } from './bins.ts';
import type { Step } from './delegated-roles.ts';
import type { DocumentEntry } from './document-entry.ts';
import { ifGood, PublicationError } from './errors.ts';
import { PUBLICATION_LIMITS } from './limits.ts';
import type { TargetsMetadata } from './metadata.ts';
import { documentPathOfHead } from './names.ts';
import type { SitePublication } from './site-publication.ts';
import type { TrustedState } from './trusted-state.ts';
import { checkExpiry } from './verify-roles.ts';

/** Roles that are asked for ahead: each is a file of its own. */
const ROLES_AHEAD = 8;

export interface ListedDocument {
  readonly path: string;
  readonly entry: DocumentEntry;
}

/** A section, bin or `documents` that is no good: what is in it is not known. */
export interface FailedList {
  readonly name: string;
  readonly error: PublicationError;
}

export type OnFailedList = (list: FailedList) => void;

/**
 * Lists all documents; asks for the files of all bins.
 *
 * @param now - seconds since 1970
 * @param failed - called for each section or bin that fails a check: its documents are missing here
 * @throws PublicationError where the whole publication is no good any more
 */
export async function* listDocuments(
  publication: SitePublication,
  now: number,
  failed: OnFailedList,
): AsyncGenerator<ListedDocument, undefined> {
  publication.freshness(now);
  const seen = new Set<string>(); // a path may stand in a section and, where it does not count, in a bin
  const { state } = publication;
  if (state === undefined) return;
  for await (const targets of targetPaths(publication, state, now, failed)) {
    for (const target of targets) {
      const path = documentPathOfHead(target);
      if (path === undefined || seen.has(path)) continue;
      seen.add(path);
      publication.freshness(now);
      // A malformed entry, or one in a section that fails a check, is not listed; a request for it reports why.
      const entry = await ifGood(() => publication.document(path, now));
      if (entry) yield { path, entry };
    }
  }
}

/**
 * Yields the target paths of the delegated roles, in no order; some may be named by a role that is not asked for them, or more than once. A
 * look-up tells which of them count.
 */
async function* targetPaths(
  publication: SitePublication,
  state: TrustedState,
  now: number,
  failed: OnFailedList,
): AsyncGenerator<string[], undefined> {
  const asked = new Set(['targets']);
  const steps = allStepsFrom(state.targets);
  for (let step = steps.shift(); step !== undefined; step = steps.shift()) {
    if (asked.has(step.name)) continue;
    asked.add(step.name);
    try {
      const wanted = publication.role(step, state);
      askAhead(publication, steps.slice(0, ROLES_AHEAD), state);
      const role = await wanted;
      checkExpiry(step.name, role, now); // 5.6.5
      steps.push(...allStepsFrom(role));
      yield role.targetPaths();
    } catch (error) {
      if (!(error instanceof PublicationError)) throw error;
      failed({ name: step.name, error });
    }
  }
}

/** Starts loading roles. Errors are reported when the role is read. */
function askAhead(publication: SitePublication, steps: readonly Step[], state: TrustedState): void {
  for (const step of steps)
    if (state.snapshot.roles.has(step.name)) publication.role(step, state).catch(() => undefined);
}

function allStepsFrom({ bins, delegations, keys }: TargetsMetadata): Step[] {
  if (bins && bins.bits > PUBLICATION_LIMITS.binBits)
    throw new PublicationError(
      'metadata-malformed',
      `the publication has 2^${bins.bits} bins, and not all can be read`,
    );
  if (bins)
    return binNames(bins.bits, bins.namePrefix).map((name) => ({
      name,
      roleKeys: bins,
      keys,
      terminating: true,
      bins,
    }));
  return delegations.map((one) => ({ name: one.name, roleKeys: one, keys, terminating: one.terminating }));
}

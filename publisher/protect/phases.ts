/** The phases of `wispr protect`, and what each hands to the next: inspect, plan, write. The first two refuse, and change nothing published. */
import type { SiteSettings } from '../../core/publication/settings.ts';
import type { PublisherIndex } from '../workspace/index/publisher-index.ts';
import type { Change } from '../workspace/index/schema.ts';
import type { Appearance } from './appearance.ts';
import type { SiteLocation } from './location.ts';
import type { InspectedOutput } from './output.ts';
import type { PublicationRoles } from './roles.ts';
import type { RunKeys } from './run-keys.ts';
import type { RunSections } from './sections.ts';

/** State of the workspace: keys, earlier output, and how documents are to come out. */
export interface Inspected {
  readonly location: SiteLocation;
  readonly index: PublisherIndex;
  readonly keys: RunKeys;
  readonly roles: PublicationRoles;
  readonly sections: RunSections;
  readonly output: InspectedOutput;
  readonly appearance: Appearance;
  readonly settings: string;
  readonly rekey: ReadonlySet<string>;
  /** Tells whether the key store is older than what was published: every set gets a new key then. */
  readonly isBehind: boolean;
  readonly recipient: Uint8Array | undefined;
}

/** Decisions of a run; the tasks themselves are in the index. */
export interface Planned {
  readonly plan: Plan;
  readonly settings: SiteSettings;
}

export interface Progress {
  /** `looking`: at the site, whose size is not known yet. `writing`: documents. */
  readonly stage: 'looking' | 'writing';
  readonly done: number;
  /** `undefined` while it is unknown. */
  readonly total: number | undefined;
}

export interface Plan {
  readonly documents: number;
  /** Bytes of their sources. */
  readonly bytes: number;
  readonly changes: Readonly<Record<Change, number>>;
  readonly removed: number;
  readonly sets: ReadonlyMap<string, number>;
  readonly sections: readonly SectionSummary[];
  readonly public: readonly PublicSummary[];
  readonly ignored: number;
  readonly hidden: readonly string[];
  readonly unusedPatterns: readonly string[];
}

export interface SectionSummary {
  readonly name: string;
  readonly documents: number;
  /** Documents in which something changed that waits for the section's keys. */
  readonly waiting: number;
}

export interface PublicSummary {
  readonly reason: string;
  readonly documents: number;
  /** Paths of the first documents. */
  readonly paths: readonly string[];
}

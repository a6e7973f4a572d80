/** What the Reader's own pages are made of: the running proxy, as far as they concern it. */
import type { ProofSettings } from '../bind/connection.ts';
import type { BoundSites } from '../bound-sites.ts';
import type { ObjectCache } from '../cache/object-cache.ts';
import type { Upstream } from '../content/upstream.ts';
import type { BoundTunnels } from '../doors/bound-tunnels.ts';
import type { ReaderLock } from '../identity/lock.ts';
import type { Instance } from '../listening/listen.ts';
import type { SettingName, SettingsKeeper } from '../settings/settings.ts';
import type { ReaderStore } from '../store/store.ts';
import type { Activity } from './activity.ts';
import type { Observed } from './observed.ts';
import type { Proposals } from './proposals.ts';

/** What the doors notice, and the first page shows. */
export interface Noticed {
  readonly activity: Activity;
  /** Hosts with protected content that are not connected. */
  readonly seen: Observed;
  /** Browsers, by what they call themselves, that use the Reader as their proxy. */
  readonly browsers: Observed;
}

export interface ControlContext extends Noticed {
  readonly tunnels: BoundTunnels;
  readonly store: ReaderStore;
  readonly lock: ReaderLock;
  readonly sites: BoundSites;
  readonly upstream: Upstream;
  readonly cache: ObjectCache;
  readonly settings: SettingsKeeper;
  readonly proofs: ProofSettings;
  readonly proposals: Proposals;
  readonly instance: Instance;
  /** The token of the guard, for forms. */
  readonly token: string;
  readonly port: () => number | undefined;
  /** Settings that the command line has the last word on. */
  readonly fixed: ReadonlyMap<SettingName, string>;
  /** Where a browser opens a site. */
  readonly urlOf: (label: string) => string;
  /** Seconds since 1970. */
  readonly now: () => number;
}

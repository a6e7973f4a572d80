/** Puts the Reader's own pages together. */
import type { ProofSettings } from '../bind/connection.ts';
import type { BoundSites } from '../bound-sites.ts';
import type { ObjectCache } from '../cache/object-cache.ts';
import type { Upstream } from '../content/upstream.ts';
import type { BoundTunnels } from '../doors/bound-tunnels.ts';
import type { ReaderLock } from '../identity/lock.ts';
import type { Instance } from '../listening/listen.ts';
import type { SettingName, SettingsKeeper } from '../settings/settings.ts';
import type { ReaderStore } from '../store/store.ts';
import { Activity } from './activity.ts';
import type { Noticed } from './context.ts';
import { ControlPages } from './control-pages.ts';
import { Guard } from './guard.ts';
import { Observed } from './observed.ts';
import { Proposals } from './proposals.ts';
import { controlRoutes } from './routes.ts';

export interface ControlOptions {
  readonly tunnels: BoundTunnels;
  readonly store: ReaderStore;
  readonly lock: ReaderLock;
  readonly sites: BoundSites;
  readonly upstream: Upstream;
  readonly cache: ObjectCache;
  readonly settings: SettingsKeeper;
  readonly proofs: ProofSettings;
  readonly instance: Instance;
  readonly port: () => number | undefined;
  readonly fixed: ReadonlyMap<SettingName, string>;
  readonly urlOf: (label: string) => string;
  readonly now: () => number;
}

export interface Control {
  readonly guard: Guard;
  readonly control: ControlPages;
  /** For the doors to write into. */
  readonly noticed: Noticed;
}

export function openControlPages(options: ControlOptions): Control {
  const guard = new Guard(options.port);
  const noticed: Noticed = {
    activity: new Activity(),
    seen: new Observed(),
    browsers: new Observed(),
  };
  const context = { ...options, ...noticed, proposals: new Proposals(), token: guard.token };
  return { guard, control: new ControlPages(guard, controlRoutes(context)), noticed };
}

import type { ObjectCache } from '../cache/object-cache.ts';
import type { HostHealth } from '../content/host-health.ts';
import type { Upstream } from '../content/upstream.ts';
import type { BlockOpener } from '../opening/block-opener.ts';
import type { ChangedDeliveries } from './changed-deliveries.ts';

/** What reading documents needs, for all sites together. */
export interface ContentAccess {
  readonly upstream: Upstream;
  readonly health: HostHealth;
  readonly cache: ObjectCache;
  readonly opener: BlockOpener;
}

/** And what delivering them to clients needs. */
export interface DeliveryAccess extends ContentAccess {
  readonly deliveries: ChangedDeliveries;
}

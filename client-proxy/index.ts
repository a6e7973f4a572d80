/** The reader's side: the personal proxy with its gateway, and connecting to publishers. */
export { type BindOptions, type BoundSites, bindSite } from './bind/bind-site.ts';
export type { ConnectionRequest } from './bind/connection.ts';
export { type ConnectTo, parseConnectTo } from './content/connect-to.ts';
export type { HostReport } from './content/host-health.ts';
export { ReaderError } from './errors.ts';
export { type ProxyOptions, type RunningProxy, startProxy } from './proxy.ts';
export type { Passphrase } from './store/storage-key.ts';
export { syncSite } from './sync/sync-site.ts';
export type { FailedDocument, RefusedSet, SyncCount, SyncOptions, SyncProgress, SyncSummary } from './sync/types.ts';

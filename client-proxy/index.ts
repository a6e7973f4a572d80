/** The reader's side: the personal proxy with its gateway, and connecting to publishers. */
export { type BindOptions, type BoundSites, bindSite } from './bind/bind-site.ts';
export type { ConnectionRequest } from './bind/connection.ts';
export { type ConnectTo, formatConnectTo, parseConnectTo } from './content/connect-to.ts';
export type { HostReport } from './content/host-health.ts';
export { type AllowLocal, parseAllowLocal } from './content/local-addresses.ts';
export { ParentProxy } from './content/parent-proxy.ts';
export { ReaderError, readerRemedy } from './errors.ts';
export { DocumentRefused } from './fetch/document-refused.ts';
export { type FetchedDocument, fetchDocument, type WantedRange } from './fetch/fetch-document.ts';
export { gatewayUrl } from './gateway-label.ts';
export {
  describeIdentity,
  type Forgotten,
  type ForgottenAll,
  findPublisher,
  forgetEverything,
  forgetPublisher,
  lockReader,
  protectIdentity,
  unlockReader,
} from './identity/manage.ts';
export { exportIdentity, importIdentity } from './identity/take-along.ts';
export { readWords, requireWords } from './identity/words.ts';
export { DEFAULT_PORT } from './listening/listen.ts';
export type { ProxyOptions } from './open-reader.ts';
export { type RunningProxy, startProxy } from './proxy.ts';
export { checkInstallable, foreignUnit, type Installed, installService } from './service/install.ts';
export { readerFiles } from './service/places.ts';
export { checkErasable, eraseData, planRemoval, type ReaderFiles, removeService } from './service/remove.ts';
export { type ServiceState, serviceState } from './service/systemctl.ts';
export { UNIT_NAME, unitFile } from './service/unit.ts';
export { folderBytes, type KnownStatus, readStatus } from './status/read-status.ts';
export type { ReaderStatus, SiteStatus } from './status/status.ts';
export type { ConnectedPublisher } from './store/identity-store.ts';
export type { Passphrase } from './store/types.ts';
export { syncSite } from './sync/sync-site.ts';
export type { FailedLook, RefusedSet, SyncOptions, SyncProgress, SyncSummary } from './sync/types.ts';

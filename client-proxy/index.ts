/** The reader's side: the personal proxy with its gateway, and connecting to publishers. */

export type { AllowLocal } from '../node-support/addresses.ts';
export { type BindingSummary, type BindOptions, bindSite } from './connect/bind-site.ts';
export type { ConnectionRequest } from './connect/connection.ts';
export { isCodeAlone } from './connect/invitation.ts';
export { ReaderError, readerRemedy } from './errors.ts';
export { DEFAULT_PORT, gatewayUrl } from './gateway/label.ts';
export type { ArrivingSite } from './identity/arrival.ts';
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
export { type ConnectTo, formatConnectTo, parseConnectTo } from './network/connect-to.ts';
export { parseHttpcryptTo } from './network/httpcrypt-to.ts';
export { parseAllowLocal } from './network/local-addresses.ts';
export { ParentProxy } from './network/parent-proxy.ts';
export type { FetchedDocument, RequestedRange } from './offline/cut-range.ts';
export { fetchDocument } from './offline/fetch-document.ts';
export { syncSite } from './offline/sync-site.ts';
export type {
  FailureReason,
  RefusedSet,
  SyncOptions,
  SyncProgress,
  SyncSummary,
} from './offline/types.ts';
export { DocumentRefused } from './running/conversation.ts';
export {
  folderBytes,
  type ReaderStatus,
  readStatus,
  type SiteStatus,
  type StatusReport,
} from './running/status.ts';
export type { ProxyOptions } from './server/open-reader.ts';
export { type RunningProxy, startProxy } from './service/proxy.ts';
export type { HostReport } from './site/host-health.ts';
export type { ConnectedPublisher } from './store/identity-store.ts';
export { type ReaderFiles, readerFiles } from './store/locations.ts';
export type { HostProof, Passphrase } from './store/types.ts';

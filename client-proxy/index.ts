/** The reader's side: the personal proxy with its gateway, and connecting to publishers. */
export { type BindOptions, type BoundResult, bindSite, type ConnectionRequest } from './bind/bind-site.ts';
export { type ConnectTo, parseConnectTo } from './content/connect-to.ts';
export { ReaderError } from './errors.ts';
export type { ControlOutcome } from './identity/control-socket.ts';
export {
  describeIdentity,
  findPublisher,
  forgetEverything,
  forgetPublisher,
  lockReaders,
  protectIdentity,
  unlockReaders,
} from './identity/manage.ts';
export { exportIdentity, importIdentity } from './identity/take-along.ts';
export { readWords, requireWords } from './identity/words.ts';
export { DEFAULT_PORT, type ProxyOptions, type RunningProxy, startProxy } from './proxy.ts';
export type { Passphrase } from './store/storage-key.ts';

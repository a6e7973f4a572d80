/** The reader's side: the personal proxy with its gateway, and connecting to publishers. */
export { type BindOptions, type BoundResult, bindSite, type ConnectionRequest } from './bind/bind-site.ts';
export { type AllowLocal, parseAllowLocal } from './content/allow-local.ts';
export { type ConnectTo, parseConnectTo } from './content/connect-to.ts';
export { ReaderError } from './errors.ts';
export { DEFAULT_PORT, type ProxyOptions, type RunningProxy, startProxy } from './proxy.ts';
export type { Passphrase } from './store/storage-key.ts';

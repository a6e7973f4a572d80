/** The reader's side: the personal proxy with its gateway, and connecting to publishers. */
export { type BindOptions, type BoundSites, bindSite } from './bind/bind-site.ts';
export type { ConnectionRequest } from './bind/connection.ts';
export { type ConnectTo, parseConnectTo } from './content/connect-to.ts';
export { ReaderError } from './errors.ts';
export { type ProxyOptions, type RunningProxy, startProxy } from './proxy.ts';
export type { Passphrase } from './store/storage-key.ts';

/** The service worker of a site with a key server. */
import { serveOrigin } from './serve.ts';
import { VaultKeys } from './vault-keys.ts';

serveOrigin((store) => new VaultKeys(store));

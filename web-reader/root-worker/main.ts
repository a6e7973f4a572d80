/** The service worker of a site without a key server. */
import { FileKeys } from '../worker/file-keys.ts';
import { serveOrigin } from '../worker/serve.ts';

serveOrigin((store) => new FileKeys(store));

import { readFileSync } from 'node:fs';

/** The script of both ceremonies, for pages with forms that have `data-passkey`: the file says how. */
export const PASSKEY_SCRIPT = {
  type: 'text/javascript; charset=utf-8',
  content: readFileSync(new URL('passkeys.js', import.meta.url)),
};

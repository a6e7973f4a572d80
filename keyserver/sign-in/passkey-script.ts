import { readProgramFile } from '../../node-support/program-files.ts';

/** The script of both ceremonies, for pages with forms that have `data-passkey`: the file says how. */
export const PASSKEY_SCRIPT = {
  type: 'text/javascript; charset=utf-8',
  content: readProgramFile('passkeys.js', import.meta.url),
};

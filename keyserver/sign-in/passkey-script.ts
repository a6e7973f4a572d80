import { readProgramFile } from '../../node-support/program-files.ts';
import { fileOf } from '../../node-support/web-reader-files.ts';

/** The script of both ceremonies, for pages with forms that have `data-passkey`: the file says how. */
export const PASSKEY_SCRIPT = fileOf(readProgramFile('passkeys.js', import.meta.url));

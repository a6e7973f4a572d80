import { fromUtf8 } from '../core/encoding/bytes.ts';

/** Reads JSON in UTF-8; `undefined` for what is none. @param standard - text in place of nothing */
export function parseJson(bytes: Uint8Array, standard = ''): unknown {
  try {
    return JSON.parse(fromUtf8(bytes) || standard);
  } catch {
    return undefined;
  }
}

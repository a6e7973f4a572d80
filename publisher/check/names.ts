/** Names that content hosts and file systems read in different ways. */
import { HASH_PREFIX } from '../site/names.ts';

/** Windows takes none of these; uploads by some programs fail or rename. */
const REFUSED_BY_WINDOWS = /[:*"<>|]/;

/** Why a name may not come through every host as it is; `undefined` if it will. */
export function oddityOf(path: string): string | undefined {
  const segments = path.slice(1).split('/');
  const name = segments.at(-1) ?? '';
  if (HASH_PREFIX.test(name)) return 'it looks like one of the files that wispr makes';
  if (/[%?#]/.test(path)) return 'hosts and links often misread %, ? and # in names';
  if (segments.some((segment) => /[. ]$/.test(segment))) return 'some hosts drop dots and spaces at the end of names';
  if (segments.some((segment) => /^ /.test(segment))) return 'some hosts drop spaces at the beginning of names';
  if (REFUSED_BY_WINDOWS.test(path)) return 'some file systems refuse : * " < > |';
  return undefined;
}

/** Names that are one to file systems that do not tell letters' cases and compositions apart. */
export class CaseFolder {
  readonly #seen = new Map<string, string>();

  /** The path that was seen before and differs in case or composition only. */
  clash(path: string): string | undefined {
    const folded = path.normalize('NFC').toLowerCase();
    const other = this.#seen.get(folded);
    if (other === undefined) this.#seen.set(folded, path);
    return other;
  }
}

/** Sets whose names differ in letters' case, or in one letter or sign, but not in digits: perhaps one of them is misspelt. */
export function nearlySame(a: string, b: string): boolean {
  if (a.replace(/\D/g, '') !== b.replace(/\D/g, '')) return false;
  const [short, long] = a.length <= b.length ? [a.toLowerCase(), b.toLowerCase()] : [b.toLowerCase(), a.toLowerCase()];
  if (long.length - short.length > 1 || long.length < 4) return short === long;
  let same = 0;
  while (same < short.length && short[same] === long[same]) same++;
  const rest = short.length === long.length ? same + 1 : same;
  return short.slice(rest) === long.slice(same + 1);
}

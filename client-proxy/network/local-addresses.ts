/** `--allow-local`: which addresses of this computer and its own network pages may reach through this program. */
import { type AllowLocal, readAllowLocal } from '../../node-support/addresses.ts';
import { ReaderError } from '../errors.ts';

/** @throws ReaderError `argument-invalid` */
export function parseAllowLocal(text: string): AllowLocal {
  const rule = readAllowLocal(text);
  if (rule !== undefined) return rule;
  throw new ReaderError('argument-invalid', `neither HOST[:PORT] nor ADDRESS/BITS[:PORT]: ${text}`, { typed: true });
}

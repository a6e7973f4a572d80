import type { DocumentWriters, WritersOptions } from './contract.ts';

/** Starts the writers. */
export function startDocumentWriters(_options: WritersOptions): DocumentWriters {
  throw new Error('being written');
}

/** Checks the chain of the audit trail, and an export against it. */
import { utf8 } from '../../core/encoding/bytes.ts';
import { parseCanonicalJson } from '../../core/encoding/canonical-json.ts';
import { type AuditHead, type AuditRow, auditFrom, auditLine, hashOf } from './audit.ts';
import type { Database } from './database.ts';

export interface AuditVerdict {
  readonly rows: number;
  readonly head: AuditHead | undefined;
  /** The first row that does not fit, and why; `undefined` where all is as it was written. */
  readonly problem: string | undefined;
}

/**
 * Follows the chain from the first row, and compares the lines of an export with it.
 *
 * @param exported - lines as {@link auditLine} writes them, in their order; every one of them has to be in the trail
 */
export async function checkAudit(database: Database, exported: Iterable<string> = []): Promise<AuditVerdict> {
  const lines = exported[Symbol.iterator]();
  let line = nextLine(lines);
  let head: AuditHead | undefined;
  let rows = 0;
  const found = (problem: string) => ({ rows, head, problem });
  for await (const row of auditFrom(database)) {
    const problem = problemOf(row, head);
    if (problem !== undefined) return found(problem);
    if (line?.number === row.number) {
      if (line.text !== auditLine(row)) return found(`row ${row.number} is another one in the export`);
      line = nextLine(lines);
    }
    head = { number: row.number, hash: row.hash };
    rows++;
  }
  if (line === undefined) return { rows, head, problem: undefined };
  return found(line.number === undefined ? 'a line of the export is no row' : `row ${line.number} is missing`);
}

function problemOf(row: AuditRow, last: AuditHead | undefined): string | undefined {
  if (row.number !== (last?.number ?? 0) + 1) return `row ${(last?.number ?? 0) + 1} is missing`;
  if (row.previous !== (last?.hash ?? '') || row.hash !== hashOf(row)) return `row ${row.number} was changed`;
  return undefined;
}

function nextLine(lines: Iterator<string>): { readonly text: string; readonly number: number | undefined } | undefined {
  const { value: text, done } = lines.next();
  if (done) return undefined;
  const row = parseCanonicalJson(utf8(text)) as { readonly number?: unknown } | undefined;
  return { text, number: typeof row?.number === 'number' ? row.number : undefined };
}

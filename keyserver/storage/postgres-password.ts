/** Finds the password for a PostgreSQL: `PGPASSWORD`, or else a file, as libpq does (https://www.postgresql.org/docs/current/libpq-pgpass.html). */
import { readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Server that asks for a password. */
export interface PasswordQuestion {
  /** Host name, or a directory with a socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/** @throws Error that says what to do, for an operator */
export function findPassword(question: PasswordQuestion): string {
  const { PGPASSWORD, PGPASSFILE } = process.env;
  const found = PGPASSWORD || passwordIn(PGPASSFILE || join(homedir(), '.pgpass'), question);
  if (found) return found;
  throw new Error('it asks for a password, and there is none in PGPASSWORD or ~/.pgpass');
}

function passwordIn(file: string, { host, port, database, user }: PasswordQuestion): string | undefined {
  const mode = statSync(file, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return undefined;
  if ((mode & 0o077) !== 0) throw new Error(`other users of this machine may read the passwords in ${file}`);
  const asked = [host, String(port), database, user];
  const entries = readFileSync(file, 'utf8').split(/\r?\n/).map(fieldsOf);
  return entries.find((fields) => asked.every((value, index) => [value, '*'].includes(fields[index] ?? '')))?.[4];
}

/** `host:port:database:user:password`; before ":" and "\" stands "\" where they belong to a field. */
function fieldsOf(line: string): string[] {
  if (line.startsWith('#')) return [];
  return [...line.matchAll(/(?:\\.|[^:\\])*(?::|$)/g)].map(([field]) =>
    field.replace(/:$/, '').replace(/\\(.)/g, '$1'),
  );
}

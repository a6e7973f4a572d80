/** `wispr admin audit`: what was changed, when, by whom. */
import type { Command } from 'commander';
import { readConfig } from '../../keyserver/config/config.ts';
import { type AuditRow, auditFrom, auditLine } from '../../keyserver/storage/audit.ts';
import { checkAudit } from '../../keyserver/storage/audit-check.ts';
import { withState } from '../../keyserver/storage/with-state.ts';
import { utcMinute } from '../../node-support/clock.ts';
import { printable } from '../../node-support/printable.ts';
import { count } from '../../publisher/text.ts';
import { dayArgument, readBounded } from '../io/arguments.ts';
import type { AdminFlags } from '../io/common-options.ts';
import { setExitCode } from '../io/context.ts';
import { EXIT, print, say } from '../io/voice.ts';

interface Options extends AdminFlags {
  readonly since?: string;
  readonly verify?: boolean | string;
}

/** Bytes of the longest export that is compared: some million rows. */
const MAXIMUM_EXPORT = 1_073_741_824;

export function addAuditCommand(command: Command): void {
  command
    .option('--since <date>', 'from this day on (UTC)')
    .option('--verify [export]', 'follow the chain of hashes, and compare it with an export made by --json')
    .action(run);
}

async function run({ config, json, since, verify }: Options): Promise<void> {
  const from = since === undefined ? 0 : dayArgument(since).start;
  await withState(readConfig(config), async ({ database }) => {
    if (verify !== undefined) return sayVerdict(await checkAudit(database, linesOf(verify)), json);
    for await (const row of auditFrom(database, from)) print(json ? auditLine(row) : describeRow(row));
  });
}

function sayVerdict({ rows, head, problem }: Awaited<ReturnType<typeof checkAudit>>, json?: boolean): void {
  if (problem !== undefined) setExitCode(EXIT.found);
  const last = head ? `${head.number} ${head.hash}` : 'none';
  if (json) print(JSON.stringify({ rows, head, problem }));
  else if (problem !== undefined) say(`the audit trail is not what was written: ${problem}`);
  else say(`as they were written: ${count(rows, 'row')}; the last one: ${last}`);
}

function linesOf(file: string | boolean): string[] {
  if (typeof file !== 'string') return [];
  const text = new TextDecoder().decode(readBounded(file, MAXIMUM_EXPORT));
  return text.split('\n').filter((line) => line !== '');
}

function describeRow({ number, time, who, action, about, details }: AuditRow): string {
  const more = Object.keys(details).length === 0 ? '' : ` ${JSON.stringify(details)}`;
  return `${number}  ${utcMinute(time)}  ${printable(`${who}: ${action} ${about}${more}`)}`;
}

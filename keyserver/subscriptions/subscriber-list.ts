/**
 * Reads a list of subscribers, as `wispr admin import FILE.csv` takes it: CSV (RFC 4180) whose first line names the columns, as other programs
 * export it: docs/launching.md.
 *
 *   name,plan,from,until
 *   ada@example.org,daily,2026-11-01,2027-10-31
 */
import { CsvError, type InfoRecord, parse } from 'csv-parse/sync';
import { CodedError } from '../../core/errors.ts';
import { nearestWords } from '../../node-support/nearest-words.ts';
import { KeyServerError, mistyped } from '../errors.ts';
import { type DayOrder, dayIn } from './listed-day.ts';
import { checkSeats } from './seats.ts';
import { nameKey, parseSetPattern, parseSubscriberName, quoted } from './subscribers.ts';

/** Bytes of the longest list: about a million subscribers. */
export const MAXIMUM_LIST_LENGTH = 134_217_728;

export const LIST_COLUMNS = ['name', 'plan', 'sets', 'from', 'until', 'seats'] as const;
export type ListColumn = (typeof LIST_COLUMNS)[number];
/** Columns that hold mail addresses in lists of other programs: beside one, "name" is what a person is called. */
const MAIL_COLUMNS = ['email', 'e-mail', 'mail', 'email address', 'customer email', 'user_email'];
/** Columns whose lack changes what everybody may read: a word that is near to one may be it. Columns such as "Status" are not near to "seats". */
const NEEDED_COLUMNS: readonly ListColumn[] = ['name', 'plan', 'sets', 'from', 'until'];
const SEPARATORS = [',', ';', '\t'] as const;

/** Rules by which a list of another program is read. */
export interface ListReading {
  /** The columns by what the list calls them, whatever the case. */
  readonly map?: Readonly<Partial<Record<ListColumn, string>>>;
  /** The plan of lines that name neither plan nor sets. */
  readonly plan?: string | undefined;
  /** Order of days such as 3/4/2026. */
  readonly dates?: DayOrder | undefined;
}

/** Right of a subscriber of a list. */
export interface ListedSubscriber {
  /** Line of the file, from 1. */
  readonly line: number;
  readonly name: string;
  /** `undefined` where sets are named. */
  readonly plan: string | undefined;
  readonly sets: readonly string[];
  /** A day, such as `2026-11-01`; `undefined`: from now on. */
  readonly from: string | undefined;
  /** The last day; `undefined`: without end. */
  readonly until: string | undefined;
  readonly seats: number | undefined;
}

export interface ListProblem {
  readonly line: number;
  readonly problem: string;
}

export interface SubscriberList {
  readonly subscribers: readonly ListedSubscriber[];
  readonly problems: readonly ListProblem[];
  /** Columns that say nothing here, as the list calls them. */
  readonly ignored: readonly string[];
}

/**
 * Reads a list. A line that says nothing usable is a problem, and the others are read all the same.
 *
 * @param plans - names of the plans that there are
 * @throws KeyServerError `argument-invalid` where it is no such list at all; `no-such-plan` for that of `reading`
 */
export function parseSubscriberList(
  bytes: Uint8Array,
  plans: ReadonlySet<string>,
  reading: ListReading = {},
): SubscriberList {
  if (reading.plan !== undefined && !plans.has(reading.plan))
    throw new KeyServerError('no-such-plan', `there is no plan ${quoted(reading.plan)}`);
  const [header, ...rows] = readRows(bytes);
  if (header === undefined) throw mistyped('the list is empty: its first line names the columns');
  const { columns, ignored } = columnsOf(header.record, reading);
  const subscribers: ListedSubscriber[] = [];
  const problems: ListProblem[] = [];
  const earlier = new Map<string, ListedSubscriber[]>();
  for (const { record, info } of rows) {
    try {
      if (record.length > header.record.length)
        throw mistyped(`it has ${record.length} fields, and line 1 names ${header.record.length}`);
      const rights = rightsIn(record, columns, info.lines, plans, reading);
      for (const right of rights) {
        const key = JSON.stringify([nameKey(right.name), right.plan, right.sets]);
        const same = earlier.get(key) ?? [];
        const met = same.find((each) => doOverlap(each, right));
        if (met !== undefined) throw mistyped(`"${right.name}" has the same right in line ${met.line}`);
        earlier.set(key, [...same, right]);
      }
      subscribers.push(...rights);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      problems.push({ line: info.lines, problem: error.message });
    }
  }
  return { subscribers, problems, ignored };
}

function doOverlap(a: ListedSubscriber, b: ListedSubscriber): boolean {
  const begins = ({ from = '' }: ListedSubscriber) => from;
  const ends = ({ until = '9999-12-31' }: ListedSubscriber) => until;
  return begins(a) <= ends(b) && begins(b) <= ends(a);
}

interface Row {
  readonly record: readonly string[];
  readonly info: Pick<InfoRecord, 'lines'>;
}

function readRows(bytes: Uint8Array): Row[] {
  if (bytes.length > MAXIMUM_LIST_LENGTH) throw mistyped(`the list is longer than ${MAXIMUM_LIST_LENGTH} bytes`);
  const text = textOf(bytes);
  const options = { bom: true, info: true, relax_column_count: true, skip_empty_lines: true, trim: true } as const;
  try {
    return parse(text, { ...options, delimiter: separatorOf(text) }) as unknown as Row[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw mistyped(`line ${Number(error.lines)} is no CSV: a quotation mark is not closed, or stands inside a field`);
  }
}

/** UTF-8; or UTF-16 with a mark, as Excel writes "Unicode text". */
function textOf(bytes: Uint8Array): string {
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe;
  try {
    return new TextDecoder(isWide ? 'utf-16le' : 'utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw mistyped('the list is not in UTF-8: save it as "CSV UTF-8"');
  }
}

/** Programs in countries with a decimal comma separate by semicolons. The first line says which it is. */
function separatorOf(text: string): string {
  const [line = ''] = text.split(/\r?\n/, 1);
  const count = (separator: string) => line.split(separator).length;
  return SEPARATORS.reduce((best, one) => (count(one) > count(best) ? one : best));
}

function columnsOf(
  header: readonly string[],
  { map = {}, plan }: ListReading,
): { readonly columns: ReadonlyMap<ListColumn, number>; readonly ignored: readonly string[] } {
  const names = header.map((name) => name.trim().toLowerCase());
  const mapped = new Map(
    Object.entries(map).map(([column, name]) => [name.trim().toLowerCase(), column as ListColumn]),
  );
  const missing = [...mapped.keys()].find((name) => !names.includes(name));
  const named = header.slice(0, 12).map(quoted).join(', ');
  if (missing !== undefined) throw mistyped(`line 1 names no column ${quoted(missing)}; it names ${named}`);
  const columns = new Map<ListColumn, number>();
  const ignored: string[] = [];
  for (const [index, name] of names.entries()) {
    const own = LIST_COLUMNS.find((column) => column === name && map[column] === undefined);
    const column = mapped.get(name) ?? own;
    if (column === undefined) ignored.push(header[index] ?? '');
    else if (columns.has(column)) throw mistyped(`line 1 names the column ${quoted(name)} twice`);
    else columns.set(column, index);
  }
  for (const name of mapped.size > 0 ? [] : ignored) {
    const [near] = nearestWords(name.toLowerCase(), NEEDED_COLUMNS).filter((one) => !columns.has(one as ListColumn));
    if (near !== undefined && name.length > 3)
      throw mistyped(`line 1 names a column ${quoted(name)}; did you mean "${near}"? If so: --map ${near}=${name}`);
  }
  checkColumns(columns, names, map, plan);
  return { columns, ignored };
}

function checkColumns(
  columns: ReadonlyMap<ListColumn, number>,
  names: readonly string[],
  map: NonNullable<ListReading['map']>,
  plan: string | undefined,
): void {
  const mail = MAIL_COLUMNS.find((one) => names.includes(one));
  const takeMail = `--map name=${mail ?? 'COLUMN'}`;
  if (!columns.has('name'))
    throw mistyped(`line 1 names no column "name"${mail ? `, and one "${mail}": ${takeMail} takes it` : ''}`);
  if (mail !== undefined && map.name === undefined)
    throw mistyped(
      `line 1 names "name" and "${mail}": ${takeMail} takes the address as the name, --map name=name the other`,
    );
  if (!columns.has('plan') && !columns.has('sets') && plan === undefined)
    throw mistyped('line 1 names neither "plan" nor "sets": --map plan=COLUMN, or --plan NAME for all of them');
}

/** @throws KeyServerError `argument-invalid`, `name-refused`, `no-such-plan` */
function rightsIn(
  record: readonly string[],
  columns: ReadonlyMap<ListColumn, number>,
  line: number,
  plans: ReadonlySet<string>,
  { plan: standard, dates }: ListReading,
): ListedSubscriber[] {
  const field = (column: ListColumn) => record[columns.get(column) ?? -1]?.trim() || undefined;
  const name = parseSubscriberName(field('name') ?? '');
  const [from, until] = [dayOf(field('from'), dates), dayOf(field('until'), dates)];
  if (from !== undefined && until !== undefined && until < from) throw mistyped('it ends before it begins');
  const sets = wordsIn(field('sets')).map(parseSetPattern);
  const named = wordsIn(field('plan'));
  if (named.length > 0 && sets.length > 0) throw mistyped('it names a plan and sets: one of them, in a line each');
  const wanted = named.length > 0 || sets.length > 0 || standard === undefined ? named : [standard];
  if (wanted.length === 0 && sets.length === 0) throw mistyped('it names neither a plan nor sets');
  for (const plan of wanted) if (!plans.has(plan)) throw mistyped(`there is no plan ${quoted(plan)}`);
  const about = { line, name, from, until, seats: seatsIn(field('seats'), name) };
  if (sets.length > 0) return [{ ...about, plan: undefined, sets }];
  return wanted.map((plan) => ({ ...about, plan, sets: [] }));
}

/** Words between spaces or commas, as on the command line. */
export function wordsIn(text = ''): string[] {
  return text.split(/[\s,]+/).filter(Boolean);
}

function seatsIn(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const seats = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  checkSeats(name, seats);
  return seats;
}

function dayOf(text: string | undefined, order: DayOrder | undefined): string | undefined {
  if (text === undefined) return undefined;
  const day = dayIn(text, order);
  if (day === 'ambiguous') throw mistyped(`${quoted(text)} may be two days: --dates dmy or --dates mdy says which`);
  if (day === undefined) throw mistyped(`${quoted(text)} is no day such as 2026-11-30`);
  return day;
}

/**
 * Reads a list of subscribers, as `wispr admin import FILE.csv` takes it: CSV (RFC 4180) in UTF-8, whose first line names the columns.
 *
 *   name,plan,from,until
 *   ada@example.org,daily,2026-11-01,2027-10-31
 */
import { CsvError, type InfoRecord, parse } from 'csv-parse/sync';
import { CodedError } from '../../core/errors.ts';
import { daySpan } from '../../core/keys/set-time.ts';
import { printable } from '../../node-support/printable.ts';
import { KeyServerError } from '../errors.ts';
import { checkSeats } from './seats.ts';
import { nameKey, parseSetPattern, parseSubscriberName } from './subscribers.ts';

/** Bytes of the longest list: about a million subscribers. */
export const MAXIMUM_LIST_LENGTH = 134_217_728;

const COLUMNS = ['name', 'plan', 'sets', 'from', 'until', 'seats'] as const;
type Column = (typeof COLUMNS)[number];

/** One subscriber of a list. */
export interface ListedSubscriber {
  /** Of the file, from 1. */
  readonly line: number;
  readonly name: string;
  /** `undefined` where sets are named. */
  readonly plan: string | undefined;
  /** Patterns, where no plan is named. */
  readonly sets: readonly string[];
  /** A day, such as `2026-11-01`; `undefined`: from now on. */
  readonly from: string | undefined;
  /** The last day; `undefined`: without end. */
  readonly until: string | undefined;
  /** Of a group. */
  readonly seats: number | undefined;
}

/** What is wrong with a line. */
export interface ListProblem {
  readonly line: number;
  readonly problem: string;
}

export interface SubscriberList {
  readonly subscribers: readonly ListedSubscriber[];
  readonly problems: readonly ListProblem[];
}

/**
 * Reads a list. A line that says nothing usable is a problem, and the others are read all the same.
 *
 * @param plans - names of the plans that there are
 * @throws KeyServerError `argument-invalid` where it is no such list at all
 */
export function parseSubscriberList(bytes: Uint8Array, plans: ReadonlySet<string>): SubscriberList {
  const [header, ...rows] = readRows(bytes);
  if (header === undefined) throw invalid('the list is empty: its first line names the columns');
  const columns = columnsOf(header.record);
  const subscribers: ListedSubscriber[] = [];
  const problems: ListProblem[] = [];
  const lines = new Map<string, number>();
  for (const { record, info } of rows) {
    try {
      const subscriber = subscriberOf(record, columns, info.lines, plans);
      const key = JSON.stringify([nameKey(subscriber.name), subscriber.plan, subscriber.sets]);
      const earlier = lines.get(key);
      if (earlier !== undefined) throw invalid(`"${subscriber.name}" has the same right in line ${earlier}`);
      lines.set(key, info.lines);
      subscribers.push(subscriber);
    } catch (error) {
      if (!(error instanceof CodedError)) throw error;
      problems.push({ line: info.lines, problem: error.message });
    }
  }
  return { subscribers, problems };
}

interface Row {
  readonly record: readonly string[];
  readonly info: Pick<InfoRecord, 'lines'>;
}

function readRows(bytes: Uint8Array): Row[] {
  if (bytes.length > MAXIMUM_LIST_LENGTH) throw invalid(`the list is longer than ${MAXIMUM_LIST_LENGTH} bytes`);
  const options = { bom: true, info: true, relax_column_count: true, skip_empty_lines: true, trim: true } as const;
  try {
    return parse(textOf(bytes), options) as unknown as Row[];
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw invalid(`line ${Number(error.lines)} is no CSV: a quotation mark is not closed, or stands inside a field`);
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalid('the list is not in UTF-8');
  }
}

/** Which column stands where. */
function columnsOf(header: readonly string[]): readonly Column[] {
  const names = header.map((name) => name.toLowerCase());
  const unknown = names.find((name) => !COLUMNS.includes(name as Column));
  if (unknown !== undefined)
    throw invalid(`line 1 names a column "${printable(unknown.slice(0, 40))}"; there are ${COLUMNS.join(', ')}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(`line 1 names the column "${twice}" twice`);
  if (!names.includes('name')) throw invalid('line 1 names no column "name"');
  if (!names.includes('plan') && !names.includes('sets')) throw invalid('line 1 names neither "plan" nor "sets"');
  return names as Column[];
}

/** @throws KeyServerError `argument-invalid` */
function subscriberOf(
  record: readonly string[],
  columns: readonly Column[],
  line: number,
  plans: ReadonlySet<string>,
): ListedSubscriber {
  if (record.length > columns.length)
    throw invalid(`it has ${record.length} fields, and line 1 names ${columns.length}`);
  const field = (column: Column) => record[columns.indexOf(column)] || undefined;
  const [plan, sets, from, until] = [field('plan'), field('sets'), day(field('from')), day(field('until'))];
  const name = parseSubscriberName(field('name') ?? '');
  if ((plan === undefined) === (sets === undefined)) throw invalid('it has to name a plan or sets, and not both');
  if (plan !== undefined && !plans.has(plan)) throw invalid(`there is no plan "${printable(plan.slice(0, 64))}"`);
  if (from !== undefined && until !== undefined && until < from) throw invalid('it ends before it begins');
  const seats = seatsIn(field('seats'), name);
  return { line, name, plan, sets: sets?.split(/\s+/).map(parseSetPattern) ?? [], from, until, seats };
}

function seatsIn(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const seats = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
  checkSeats(name, seats);
  return seats;
}

function day(text: string | undefined): string | undefined {
  if (text === undefined || daySpan(text, 'UTC')) return text;
  throw invalid(`"${printable(text.slice(0, 40))}" is no day such as 2026-11-30`);
}

function invalid(message: string): KeyServerError {
  return new KeyServerError('argument-invalid', message, { typed: true });
}

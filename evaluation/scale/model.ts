/** Cost of a publisher of the largest kind, computed from measurements of a smaller one. */
import { binBitsFor } from '../../core/publication/bins.ts';
import { type Table, table } from '../results.ts';
import type { LargestSnapshot } from './largest.ts';

/** Assumptions, which were not measured. */
export const ASSUMED = {
  readers: 1e7,
  documentsADay: 1e6,
  daysKept: 365,
  documentLength: 8192,
  /** Of one reader on one day. */
  opened: 3,
  read: 20,
  /** Period keys are for a month, and given from a quarter of it ahead. */
  periodDays: 30,
  /** Where there are no period keys: all readers ask for a day's key within this many seconds. */
  rush: 3600,
} as const;

/** Measurements, of one each. */
export interface Inputs {
  /** Milliseconds of a core for a key request: of a key server, and of PostgreSQL beside it. */
  readonly keyServer: number;
  readonly database: number;
  /** Seconds of a core to publish a document, at the largest number that was measured, and its bytes beside its own and its metadata. */
  readonly publish: number;
  readonly overhead: number;
  /** Bytes of metadata for a document. */
  readonly metadata: number;
  readonly snapshot: LargestSnapshot;
}

/** The name of each row says what it multiplies. */
export function model(inputs: Inputs): Table {
  return table(['value', 'unit'], [...ofKeys(inputs), ...ofPublication(inputs), ...ofReaders(inputs)]);
}

type Line = readonly [string, number, string];

function ofKeys({ keyServer, database }: Inputs): Line[] {
  const { readers, periodDays, rush } = ASSUMED;
  const atOnce = readers / rush;
  return [
    ['key requests, period keys: readers / (period / 4)', readers / ((periodDays / 4) * 86_400), '/s'],
    ['key requests, a key a day, in its first hour: readers / rush', atOnce, '/s'],
    ['cores of the key servers: × key server', (atOnce * keyServer) / 1000, 'cores'],
    ['cores of their database: × database', (atOnce * database) / 1000, 'cores'],
  ];
}

function ofPublication({ publish, overhead, metadata }: Inputs): Line[] {
  const { documentsADay, documentLength } = ASSUMED;
  const { kept } = library();
  return [
    ['publishing: documents a day × publish', (documentsADay * publish) / 3600, 'hours of a core a day'],
    ['stored objects: documents × (length + overhead)', (kept * (documentLength + overhead)) / 1e12, 'TB'],
    ['stored metadata: documents × metadata', (kept * metadata) / 1e9, 'GB'],
  ];
}

function ofReaders({ metadata, overhead, snapshot }: Inputs): Line[] {
  const { readers, opened, read, documentLength } = ASSUMED;
  const { kept, bins } = library();
  const documents = read * (documentLength + overhead);
  const snapshots = opened * (snapshot.bytes / snapshot.bins) * bins;
  const looked = read * ((kept * metadata) / bins);
  const all = readers * (documents + snapshots + looked);
  return [
    ['a reader fetches: documents: read × (length + overhead)', documents / 1e6, 'MB/day'],
    ['a reader fetches: snapshots: opened × snapshot', snapshots / 1e6, 'MB/day'],
    ['a reader fetches: bins: read × a bin, at worst', looked / 1e6, 'MB/day'],
    ['from caches, all readers: readers × the sum', all / 1e12, 'TB/day'],
    ['the same: × 8 / 86,400', (all * 8) / 86_400 / 1e9, 'Gbit/s'],
  ];
}

function library() {
  const kept = ASSUMED.documentsADay * ASSUMED.daysKept;
  return { kept, bins: 2 ** binBitsFor(kept) };
}

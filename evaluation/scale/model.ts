/** Cost of a publisher of the largest kind, computed from measurements of a smaller one. */
import { binBitsFor } from '../../core/publication/bins.ts';
import { type Table, table } from '../results.ts';
import type { LargestSnapshot } from './largest.ts';

/** Assumptions, which were not measured. */
export const ASSUMED = {
  readers: 1e7,
  documentsADay: 1e6,
  keyServers: 100,
  daysKept: 365,
  documentLength: 8192,
  publicationsADay: 24,
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
  /** Milliseconds of a core for a key request: of a key server, of PostgreSQL beside it, and bytes that go to its disk. */
  readonly keyServer: number;
  readonly database: number;
  readonly written: number;
  /** Seconds of a core to publish a document, at the largest number that was measured, and its bytes beside its own and its metadata. */
  readonly publish: number;
  readonly overhead: number;
  /** Bytes of metadata for a document. */
  readonly metadata: number;
  readonly snapshot: LargestSnapshot;
  /** Bytes of the database for a subscriber with a device, and seconds to import one. */
  readonly subscriber: number;
  readonly import: number;
}

/** The name of each row says what it multiplies. */
export function model(inputs: Inputs): Table {
  return table(['value', 'unit'], [...ofKeys(inputs), ...ofPublication(inputs), ...ofReaders(inputs)]);
}

type Line = readonly [string, number, string];

function ofKeys({ keyServer, database, written, subscriber, import: seconds }: Inputs): Line[] {
  const { readers, keyServers, periodDays, rush } = ASSUMED;
  const atOnce = readers / rush;
  return [
    ['key requests, period keys: readers / (period / 4)', readers / ((periodDays / 4) * 86_400), '/s'],
    ['key requests, a key a day, in its first hour: readers / rush', atOnce, '/s'],
    ['the same at each key server: / key servers', atOnce / keyServers, '/s'],
    ['cores of the key servers: × key server', (atOnce * keyServer) / 1000, 'cores'],
    ['cores of their database: × database', (atOnce * database) / 1000, 'cores'],
    ['written by their database: × written', (atOnce * written) / 1e6, 'MB/s'],
    ['size of their database: readers × subscriber', (readers * subscriber) / 1e9, 'GB'],
    ['importing all: readers × import', (readers * seconds) / 3600, 'hours'],
  ];
}

function ofPublication({ publish, overhead, metadata, snapshot }: Inputs): Line[] {
  const { documentsADay, documentLength, publicationsADay } = ASSUMED;
  const { kept, bins } = library();
  // A bin stays as it is if none of the new documents falls into it.
  const touched = 1 - Math.exp(-documentsADay / publicationsADay / bins);
  const signed = publicationsADay * (touched * kept * metadata + (snapshot.bytes / snapshot.bins) * bins);
  return [
    ['publishing: documents a day × publish', (documentsADay * publish) / 3600, 'hours of a core a day'],
    ['documents: documents a day × days kept', kept / 1e6, 'million'],
    ['stored objects: documents × (length + overhead)', (kept * (documentLength + overhead)) / 1e12, 'TB'],
    ['stored metadata: documents × metadata', (kept * metadata) / 1e9, 'GB'],
    ['bins: as a publisher has them', bins, ''],
    ['a bin: documents × metadata / bins', (kept * metadata) / bins / 1e6, 'MB'],
    ['bins that one publication changes: 1 − e^(−its documents / bins)', touched * 100, '%'],
    ['metadata signed anew: publications × (changed bins + snapshot)', signed / 1e9, 'GB/day'],
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
    ['requests to caches: readers × (2 × read + 2 × opened)', (readers * 2 * (read + opened)) / 86_400, '/s'],
  ];
}

function library() {
  const kept = ASSUMED.documentsADay * ASSUMED.daysKept;
  return { kept, bins: 2 ** binBitsFor(kept) };
}

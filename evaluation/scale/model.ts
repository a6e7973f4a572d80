/** What a publisher of the largest kind costs, from what was measured on a smaller one. Every line says what it multiplies. */
import { binBitsFor } from '../../core/publication/bins.ts';
import type { LargestSnapshot } from './largest.ts';

/** What is assumed, and was not measured. */
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

/** What was measured, of one each. */
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

export interface Line {
  readonly what: string;
  readonly how: string;
  readonly value: number;
  readonly unit: string;
}

export function model(measured: Inputs): Line[] {
  return [...ofKeys(measured), ...ofPublication(measured), ...ofReaders(measured)];
}

function ofKeys({ keyServer, database, written, subscriber, import: seconds }: Inputs): Line[] {
  const { readers, keyServers, periodDays, rush } = ASSUMED;
  const spread = readers / ((periodDays / 4) * 86_400);
  const atOnce = readers / rush;
  return [
    { what: 'key requests, period keys', how: 'readers / (period / 4)', value: spread, unit: '/s' },
    { what: 'key requests, a key a day, in its first hour', how: 'readers / rush', value: atOnce, unit: '/s' },
    { what: 'the same at each key server', how: '/ key servers', value: atOnce / keyServers, unit: '/s' },
    { what: 'cores of the key servers', how: '× key server', value: (atOnce * keyServer) / 1000, unit: 'cores' },
    { what: 'cores of their database', how: '× database', value: (atOnce * database) / 1000, unit: 'cores' },
    { what: 'written by their database', how: '× written', value: (atOnce * written) / 1e6, unit: 'MB/s' },
    { what: 'size of their database', how: 'readers × subscriber', value: (readers * subscriber) / 1e9, unit: 'GB' },
    { what: 'importing all', how: 'readers × import', value: (readers * seconds) / 3600, unit: 'hours' },
  ];
}

function ofPublication({ publish, overhead, metadata, snapshot }: Inputs): Line[] {
  const { documentsADay, daysKept, documentLength, publicationsADay } = ASSUMED;
  const kept = documentsADay * daysKept;
  const bins = 2 ** binBitsFor(kept);
  // A bin stays as it is if none of the new documents falls into it.
  const touched = 1 - Math.exp(-documentsADay / publicationsADay / bins);
  const snapshotBytes = (snapshot.bytes / snapshot.bins) * bins;
  const signed = publicationsADay * (touched * kept * metadata + snapshotBytes);
  return [
    {
      what: 'publishing',
      how: 'documents a day × publish',
      value: (documentsADay * publish) / 3600,
      unit: 'hours of a core a day',
    },
    { what: 'documents', how: 'documents a day × days kept', value: kept / 1e6, unit: 'million' },
    {
      what: 'stored objects',
      how: 'documents × (length + overhead)',
      value: (kept * (documentLength + overhead)) / 1e12,
      unit: 'TB',
    },
    { what: 'stored metadata', how: 'documents × metadata', value: (kept * metadata) / 1e9, unit: 'GB' },
    { what: 'bins', how: 'as a publisher has them', value: bins, unit: '' },
    { what: 'a bin', how: 'documents × metadata / bins', value: (kept * metadata) / bins / 1e6, unit: 'MB' },
    {
      what: 'bins that one publication changes',
      how: '1 − e^(−its documents / bins)',
      value: touched * 100,
      unit: '%',
    },
    {
      what: 'metadata signed anew',
      how: 'publications × (changed bins + snapshot)',
      value: signed / 1e9,
      unit: 'GB/day',
    },
  ];
}

function ofReaders({ metadata, overhead, snapshot }: Inputs): Line[] {
  const { readers, opened, read, documentLength, documentsADay, daysKept } = ASSUMED;
  const kept = documentsADay * daysKept;
  const bins = 2 ** binBitsFor(kept);
  const documents = read * (documentLength + overhead);
  const snapshots = opened * (snapshot.bytes / snapshot.bins) * bins;
  const looked = read * ((kept * metadata) / bins);
  const all = documents + snapshots + looked;
  return [
    { what: 'a reader fetches: documents', how: 'read × (length + overhead)', value: documents / 1e6, unit: 'MB/day' },
    { what: 'a reader fetches: snapshots', how: 'opened × snapshot', value: snapshots / 1e6, unit: 'MB/day' },
    { what: 'a reader fetches: bins', how: 'read × a bin, at worst', value: looked / 1e6, unit: 'MB/day' },
    { what: 'from caches, all readers', how: 'readers × the sum', value: (readers * all) / 1e12, unit: 'TB/day' },
    { what: 'the same', how: '× 8 / 86,400', value: (readers * all * 8) / 86_400 / 1e9, unit: 'Gbit/s' },
    {
      what: 'requests to caches',
      how: 'readers × (2 × read + 2 × opened)',
      value: (readers * 2 * (read + opened)) / 86_400,
      unit: '/s',
    },
  ];
}

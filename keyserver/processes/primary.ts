/** Requests of a worker to the primary process: there is one on a machine, and it answers no reader itself (docs/cluster.md). */
import cluster from 'node:cluster';
import type { MetricObjectWithValues, MetricValue } from 'prom-client';
import type { Hits } from '../../node-support/minute-counts.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { type Hashing, Tally } from '../hashing/hashing.ts';
import type { Mailer } from '../mail/mailer.ts';
import { Channel } from './channel.ts';

/** Listener of a worker. */
export interface Place {
  readonly origin: string;
  readonly port: number;
}
export type Places = Readonly<Record<'api' | 'reading' | 'documents', Place>>;

/** Answers of the primary process to a worker. */
export interface PrimaryAnswers {
  /** Hears from now on. Messages to a process before that are lost. */
  readonly ready: () => void;
  readonly listening: (places: Places) => void;
  /** Counts a request. @param limit - the number of the limit, which is the same in all workers */
  readonly hit: (limit: number, key: string) => Hits;
  /** Begins and ends an attempt, as `FailureCounts` does. */
  readonly begin: (
    kind: string,
    window: number,
    key: string,
  ) => Promise<{ readonly attempt: number; readonly hits: number; readonly wait: number }>;
  readonly end: (attempt: number, failed: boolean) => void;
  readonly hash: Hashing['hash'];
  readonly send: Mailer['send'];
  readonly sendLater: Mailer['sendLater'];
  readonly demandPlace: Mailer['demandPlace'];
  readonly push: () => void;
}

export type MetricValues = MetricObjectWithValues<MetricValue<string>>[];

/** Answers of a worker to the primary process. */
export interface WorkerAnswers {
  /** Resolves when requests are answered. @param number - from 1, for the log */
  readonly start: (number: number, config: KeyServerConfig) => Promise<void>;
  readonly stop: () => void;
  readonly reload: () => Promise<void>;
  readonly metrics: () => Promise<MetricValues>;
}

/** The primary process; `undefined` where this is not a worker. */
export const primary = cluster.isWorker ? new Channel<PrimaryAnswers>(process) : undefined;

/** Passwords are hashed there, in one queue. */
export function hashingAt(there: NonNullable<typeof primary>): Hashing {
  const { counts } = new Tally();
  return {
    hash: (address, work) => there.ask('hash', address, work),
    counts: () => counts,
    connected: () => undefined,
    close: async () => undefined,
  };
}

/** Mails wait there, in one queue. */
export function mailerAt(there: NonNullable<typeof primary>): Mailer {
  return {
    send: (...mail) => there.ask('send', ...mail),
    sendLater: (...mail) => there.tell('sendLater', ...mail),
    demandPlace: () => there.ask('demandPlace'),
    close: async () => undefined,
  };
}

/** Runs that publish: of several people with a copy of the workspace, one at a time. docs/spec/keys.md, "Handing over". */
import { z } from 'zod';
import { parseJson } from '../../node-support/parse-json.ts';
import { printable } from '../../node-support/printable.ts';
import { unfit } from '../errors.ts';
import type { KeyServerState } from '../storage/state.ts';

/** Seconds after which a run is forgotten that has not asked again. */
const HELD = 120;
const MAXIMUM_PLACE_LENGTH = 100;
const RUN = z.object({ run: z.string().regex(/^[A-Za-z0-9_-]{22}$/), from: z.string().max(MAXIMUM_PLACE_LENGTH) });

/** A run of `wispr publish` or `rollback`. */
export interface PublishingRun {
  /** 128 bits, base64url: tells workspaces apart. */
  readonly run: string;
  /** User and machine, as the publisher's program says: for people's eyes. */
  readonly place: string;
}

/** The run that holds the site. */
export interface Holder {
  /** Name, as the audit trail has it. */
  readonly who: string;
  readonly place: string;
  readonly since: number;
}

/** Reads the body of a request. @throws KeyServerError `argument-invalid` */
export function parseRun(bytes: Uint8Array): PublishingRun {
  const { data } = RUN.safeParse(parseJson(bytes));
  if (!data) throw unfit('a run has "run", 22 characters of base64url, and "from"');
  return { run: data.run, place: printable(data.from) };
}

/**
 * Lets a run begin, or go on: no other one begins for two minutes.
 *
 * @param state - says who asks
 * @returns the run that is in its way, if there is one
 */
export function holdSite({ database, now, actor }: KeyServerState, run: PublishingRun): Promise<Holder | undefined> {
  return database.transaction(async () => {
    const others = 'SELECT who, place, since FROM publishing WHERE ends >= ? AND (run <> ? OR who <> ?)';
    const other = await database.first<Holder>(others, now(), run.run, actor);
    if (other) return other;
    await database.run('DELETE FROM publishing WHERE run <> ? OR ends < ?', run.run, now());
    const sql = `INSERT INTO publishing (run, who, place, since, ends) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (run) DO UPDATE SET ends = excluded.ends`;
    await database.run(sql, run.run, actor, run.place, now(), now() + HELD);
    return undefined;
  });
}

/** Ends a run. */
export async function releaseSite({ database }: KeyServerState, run: string): Promise<void> {
  await database.run('DELETE FROM publishing WHERE run = ?', run);
}

/** Place from which a publisher publishes; `''` where that is not known. */
export async function placeOf({ database, actor }: KeyServerState): Promise<string> {
  return (await database.first<{ place: string }>('SELECT place FROM publishing WHERE who = ?', actor))?.place ?? '';
}

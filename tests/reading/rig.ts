/** Demands of the contract on a reader, however it is reached. */
import type { ReadSite } from './site.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  /** Tells whether it came to its proper end. */
  readonly isWhole: boolean;
}

export interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A reader who may have the set `day-1`, and not `day-2`. */
export interface ReadingRig {
  readonly site: ReadSite;
  /** Asks as programs and scripts of pages do. */
  get(path: string, asked?: Asked): Promise<Answer>;
  /** Opens it in a window, by its address. */
  open(path: string): Promise<Answer>;
  /** Follows the button of the page that was opened last. */
  goOn(): Promise<Answer>;
  /** Goes away after the first bytes. */
  leave(path: string): Promise<void>;
  /** Takes a little of it now and then. */
  readSlowly(path: string): Promise<Buffer>;
  /** Looks for a newer publication, and has found it then. */
  look(): Promise<void>;
  /** Dates the publication's last confirmation back by so many seconds during `work`. @param kept - what was read before, and is kept */
  aged(seconds: number, work: () => Promise<void>, kept?: string): Promise<void>;
  close(): Promise<void>;
}

/** Registers a case of the contract, unless the reader at hand differs in it. */
export type Holds = (title: string, work: () => Promise<void>) => void;

export const textOf = ({ body }: Answer) => body.toString();

/** Status and code of an answer that refuses. */
export const refusalOf = ({ status, headers }: Answer) => [status, headers['wispr-refusal']];

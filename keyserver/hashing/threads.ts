import { AnsweringThread } from '../../node-support/answering-thread.ts';
import type { Argon2idCost } from '../../node-support/argon2id.ts';
import { programOfThread } from '../../node-support/program-files.ts';

/** A computation of Argon2id. It depends on nothing else, so it may be done anywhere, and twice. */
export interface HashingWork {
  readonly typed: string;
  readonly cost: Argon2idCost;
  /** 16 bytes. */
  readonly salt: Uint8Array;
}

const PROGRAM = programOfThread('thread', import.meta.url);

/** Threads, as many as there were works at a time; works that queues let through are as many as there are cores. */
let threads: AnsweringThread<HashingWork, Uint8Array>[] = [];

/** Hashes on a thread of low priority: requests that cost little are answered first. */
export function hashOnThread(work: HashingWork): Promise<Uint8Array> {
  threads = threads.filter(({ isDead }) => !isDead);
  const free = threads.find(({ load }) => load === 0);
  if (free) return free.ask(work);
  const thread = new AnsweringThread<HashingWork, Uint8Array>(PROGRAM);
  threads.push(thread);
  return thread.ask(work);
}

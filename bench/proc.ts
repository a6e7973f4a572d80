/** Processes as the kernel shows them: their time of processors, and which belong together. */
import { readdir, readFile } from 'node:fs/promises';

const TICKS_A_SECOND = 100;

/** Seconds that a process has used of processors. */
export async function processorTime(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

/** A process, and what it or its children have started, from all of their threads: those that still run. */
export async function treeOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'latin1').catch(() => ''));
  const children = (await Promise.all(lists)).flatMap((list) => list.split(' ').filter(Boolean).map(Number));
  return [pid, ...(await Promise.all(children.map(treeOf))).flat()];
}

/** The sum over processes; one that has ended meanwhile counts no more. */
export async function sumOf(pids: readonly number[], of: (pid: number) => Promise<number>): Promise<number> {
  const all = await Promise.all(pids.map((pid) => of(pid).catch(() => 0)));
  return all.reduce((sum, value) => sum + value, 0);
}

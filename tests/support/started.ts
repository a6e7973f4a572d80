import { readFileSync } from 'node:fs';
import { type Child, until } from '../../cache-config/child.ts';

/** Waits until a server works. @throws Error with what it said, if it does not within 20 seconds, or has ended; it is stopped then */
export async function started(name: string, child: Child, works: () => Promise<boolean>): Promise<Child> {
  const isOver = await until(async () => child.ended() !== undefined || (await works()), 20_000);
  if (isOver && child.ended() === undefined) return child;
  const [why, said] = [child.ended() ?? 'no answer', readFileSync(`${child.directory}/output.log`, 'utf8')];
  await child.stop();
  throw new Error(`${name} does not run: ${why}; ${said}`);
}

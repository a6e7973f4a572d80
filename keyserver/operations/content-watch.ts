/** Looks each minute which publication the content hosts show: a mirror that is behind is noticed by nobody else. */
import type { Logger } from 'pino';
import { eachMinute } from '../../node-support/each-minute.ts';
import { withinTime } from '../../node-support/within-time.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { readCurrent } from '../publication/stored.ts';
import type { KeyServerState } from '../storage/state.ts';
import { contentTargets, placesAt } from './shown-places.ts';

/** Milliseconds that all hosts together may take. */
const PATIENCE = 20_000;

/** Content hosts as they were seen last, once a minute from `start` on. */
export function watchContent(state: KeyServerState, config: KeyServerConfig, log: Pick<Logger, 'warn'>) {
  /** Versions that hosts show, by their number in the descriptor, from 1; 0: none, or none that is signed by the keys of today. */
  let shown: ReadonlyMap<string, number> = new Map();
  const look = async () => {
    const current = await readCurrent(state.database);
    if (!current) return;
    const places = placesAt(await contentTargets(state, config), current.root);
    const seen = await Promise.allSettled(places.map(({ read }) => withinTime(PATIENCE, read)));
    const versions = seen.map((one) => (one.status === 'fulfilled' ? one.value.version : 0));
    shown = new Map(versions.map((version, index) => [String(index + 1), version]));
  };
  const start = () => {
    const { run, stop } = eachMinute(() =>
      look().catch((err: unknown) => log.warn({ err }, 'the content hosts were not looked at')),
    );
    void run();
    return stop;
  };
  return { shown: () => shown, start };
}

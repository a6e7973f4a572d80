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

/** Content hosts as they were seen last. */
export class ContentWatch {
  /** Versions that hosts show, by their number in the descriptor, from 1; 0: none, or none that is signed by the keys of today. */
  shown: ReadonlyMap<string, number> = new Map();
  readonly #state: KeyServerState;
  readonly #config: KeyServerConfig;
  readonly #log: Pick<Logger, 'warn'>;

  constructor(state: KeyServerState, config: KeyServerConfig, log: Pick<Logger, 'warn'>) {
    this.#state = state;
    this.#config = config;
    this.#log = log;
  }

  start(): () => Promise<void> {
    const { run, stop } = eachMinute(() =>
      this.look().catch((err: unknown) => this.#log.warn({ err }, 'the content hosts were not looked at')),
    );
    void run();
    return stop;
  }

  async look(): Promise<void> {
    const current = await readCurrent(this.#state.database);
    if (!current) return;
    const places = placesAt(await contentTargets(this.#state, this.#config), current.root);
    const seen = await Promise.allSettled(places.map(({ read }) => withinTime(PATIENCE, read)));
    this.shown = new Map(
      seen.map((one, index) => [String(index + 1), one.status === 'fulfilled' ? one.value.version : 0] as const),
    );
  }
}

/** Opens state and listeners of a key server. One whose database is away listens meanwhile, and says so. */
import type { RequestListener } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KeyServerConfig } from '../config/config.ts';
import { KeyServerError } from '../errors.ts';
import { closeListeners, type Listeners } from '../http/listeners.ts';
import { type KeyServerState, openState } from '../storage/state.ts';

/** Milliseconds between two attempts: the first, and the longest. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [250, 10_000];

/** A state and the listeners to it, which {@link closeListeners} and `database.close()` close. */
export interface StateAndListeners {
  readonly state: KeyServerState;
  readonly listeners: Listeners;
}

export interface DatabaseWait {
  readonly now?: (() => number) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Opens the state, then the listeners. Where the database is away, the listeners come first: they answer 503 until it is there. Any other
 * refusal of the database ends the wait, and whatever fails leaves nothing open.
 *
 * @param open - opens all listeners, or none
 * @throws as `openState` and `open`, but not `database-away`; AbortError where `signal` ended the wait
 */
export async function openStateAndListeners(
  config: KeyServerConfig,
  log: Logger,
  open: () => Promise<Listeners>,
  start: DatabaseWait,
): Promise<StateAndListeners> {
  const state = await openState(config, start.now).catch(unlessAway);
  if (state instanceof KeyServerError) return waitForState(config, log, open, state, start);
  try {
    return { state, listeners: await open() };
  } catch (error) {
    await state.database.close();
    throw error;
  }
}

async function waitForState(
  config: KeyServerConfig,
  log: Logger,
  open: () => Promise<Listeners>,
  { code, message }: KeyServerError,
  { now, signal }: DatabaseWait,
): Promise<StateAndListeners> {
  const listeners = await open();
  listeners.api.serve(answerHealth);
  log.warn({ code, reason: message }, 'the database is away: waiting for it');
  try {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      await wait(pause, undefined, signal && { signal });
      const state = await openState(config, now).catch(unlessAway);
      if (state instanceof KeyServerError) continue;
      log.info('the database is there');
      return { state, listeners };
    }
  } catch (error) {
    await closeListeners(listeners);
    throw error;
  }
}

function unlessAway(error: unknown): KeyServerError {
  if (error instanceof KeyServerError && error.code === 'database-away') return error;
  throw error;
}

/** Answers load balancers and monitoring like a key server that has lost its database. */
const answerHealth: RequestListener = ({ url }, response) => {
  response.writeHead(503, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
  const isHealth = url === '/healthz' || url === '/readyz';
  response.end(JSON.stringify(isHealth ? { problems: ['database'] } : { error: 'database-away' }));
};

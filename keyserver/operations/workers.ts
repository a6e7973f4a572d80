/** Processes that answer requests, started and kept by the primary process, which does all that is done once on a machine: docs/cluster.md. */
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { isSea } from 'node:sea';
import type { Logger } from 'pino';
import { reasonOf } from '../../core/errors.ts';
import { systemCode } from '../../node-support/system-error.ts';
import { withinTime } from '../../node-support/within-time.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { DEFAULT_LIMITS } from '../config/limits.ts';
import { CountStore } from '../http/count-store.ts';
import { type Attempt, FailureCounts } from '../http/failure-counts.ts';
import type { Listener } from '../http/listen.ts';
import type { Listeners } from '../http/listeners.ts';
import type { Mailer } from '../mail/mailer.ts';
import { Channel } from '../processes/channel.ts';
import type { MetricValues, Place, Places, PrimaryAnswers, WorkerAnswers } from '../processes/primary.ts';
import type { KeyServerState } from '../storage/state.ts';

/** Milliseconds: before the first new start, before each further one up to which it doubles, and of a life after which it begins anew. */
const [FIRST_PAUSE, LONGEST_PAUSE, LONG_LIFE] = [1000, 30_000, 60_000];
/** Milliseconds for the metrics of one; and until one that was told to stop is killed, since its requests have five seconds. */
const [PATIENCE, FAREWELL] = [2000, 15_000];

/** Work of the primary process for workers. */
export interface PrimaryParts {
  readonly state: KeyServerState;
  readonly mailer: Mailer | undefined;
  readonly push: () => void;
}

interface Running {
  readonly child: Worker;
  readonly channel: Channel<WorkerAnswers>;
  readonly ready: Promise<void>;
  readonly ended: Promise<unknown>;
}

export class Workers {
  readonly #config: KeyServerConfig;
  readonly #log: Logger;
  readonly #parts = Promise.withResolvers<PrimaryParts>();
  readonly #hits = new Map<number, CountStore>();
  readonly #failures = new Map<string, FailureCounts>();
  readonly #running = new Map<number, Running>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #serving: Promise<void>[] = [];
  #stopped: Promise<void> | undefined;
  #isUp = false;

  /** @param program - that calls `runWorker`, with its arguments */
  constructor(config: KeyServerConfig, [exec = '', ...args]: readonly string[], log: Logger) {
    // The single file has the flags in itself, and takes none.
    cluster.setupPrimary({ exec, args, execArgv: isSea() ? [] : process.execArgv, serialization: 'advanced' });
    this.#config = configOfWorker(config);
    this.#log = log;
  }

  /** Starts all. @returns what stands for their listeners @throws as `startKeyServer`, for whichever fails first */
  async listen(): Promise<Pick<Listeners, keyof Places>> {
    const numbers = Array.from({ length: this.#config.processes ?? 1 }, (_, index) => index + 1);
    try {
      const [places] = await Promise.all(numbers.map((number) => this.#start(number)));
      const { api, reading, documents } = places as Places;
      const standIn = (place: Place): Listener => ({ ...place, ...NO_LISTENER, close: () => this.stop() });
      return { api: standIn(api), reading: standIn(reading), documents: standIn(documents) };
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Resolves when all answer requests. From then on, those that end are started again. @throws as `startKeyServer` */
  async serve(parts: PrimaryParts): Promise<void> {
    this.#parts.resolve(parts);
    await Promise.all(this.#serving);
    this.#isUp = true;
  }

  async metrics(): Promise<MetricValues[]> {
    const asked = Array.from(this.#running.values(), ({ channel }) =>
      withinTime(PATIENCE, () => channel.ask('metrics')),
    );
    return (await Promise.allSettled(asked)).flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  }

  /** Has certificates read again. @throws the first reason why one was not taken */
  async reload(): Promise<void> {
    await Promise.all(Array.from(this.#running.values(), ({ channel }) => channel.ask('reload')));
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    const ends = Array.from(this.#running.values(), async ({ child, channel, ready, ended }) => {
      ready.then(() => channel.tell('stop'), nothing);
      const timer = setTimeout(() => child.process.kill('SIGKILL'), FAREWELL);
      await ended;
      clearTimeout(timer);
    });
    await Promise.all(ends);
  }

  /** @param starts - one after the other that came to an early end @returns where it listens */
  #start(number: number, starts = 1): Promise<Places> {
    const child = cluster.fork().on('error', nothing); // counts as an end
    const channel = new Channel<WorkerAnswers>(child.process);
    const [ready, listening] = [Promise.withResolvers<void>(), Promise.withResolvers<Places>()];
    const attempts = new Map<number, Attempt>();
    const isThere = () => this.#running.get(number)?.child === child;
    const own = { ready: ready.resolve, listening: listening.resolve };
    channel.answerBy<PrimaryAnswers>({ ...this.#answers(attempts, isThere), ...own });
    let isKept = this.#isUp;
    const serving = ready.promise.then(() => channel.ask('start', number, this.#config));
    if (!isKept) this.#serving.push(serving);
    const failed = (error: unknown) => {
      listening.reject(error);
      if (!isKept || this.#stopped) return;
      const about = { process: number, code: systemCode(error), reason: reasonOf(error) };
      this.#log.error(about, 'a process did not start');
    };
    serving.then(() => {
      isKept = true;
    }, failed);
    const begun = performance.now();
    const end = once(child.process, 'exit').catch((error: unknown) => [systemCode(error)]);
    const ended = end.then(([code, signal]) => {
      this.#running.delete(number);
      const reason = new Error(`process ${number} ended (${signal ?? code})`);
      ready.reject(reason);
      channel.close(reason);
      for (const attempt of attempts.values()) attempt.end(true); // an attempt that breaks off has failed
      if (isKept && !this.#stopped)
        this.#startAgain(number, performance.now() - begun < LONG_LIFE ? starts : 0, reason);
    });
    this.#running.set(number, { child, channel, ready: ready.promise, ended });
    return listening.promise;
  }

  /** @param early - starts that came to an early end */
  #startAgain(number: number, early: number, { message: reason }: Error): void {
    const pause = Math.min(FIRST_PAUSE * 2 ** Math.max(0, early - 1), LONGEST_PAUSE);
    this.#log.error({ process: number, reason, seconds: pause / 1000 }, 'a process ended: it is started again');
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#start(number, early + 1).catch(nothing);
    }, pause);
    this.#timers.add(timer);
  }

  /** @param attempts - those that have begun @param isThere - whether the asking process has not ended */
  #answers(attempts: Map<number, Attempt>, isThere: () => boolean): Omit<PrimaryAnswers, 'listening' | 'ready'> {
    let last = 0;
    const mailer = async () => {
      const { mailer } = await this.#parts.promise;
      if (!mailer) throw new Error('there is no mail');
      return mailer;
    };
    return {
      hit: (limit, key) => entryOf(this.#hits, limit, () => new CountStore()).count(key),
      begin: async (kind, window, key) => {
        const { state } = await this.#parts.promise;
        const counts = entryOf(this.#failures, kind, () => new FailureCounts(state, kind, window));
        const attempt = await counts.begin(key);
        if (isThere()) attempts.set(++last, attempt);
        else attempt.end(true);
        return { attempt: last, hits: attempt.hits, wait: attempt.wait };
      },
      end: (number, failed) => {
        attempts.get(number)?.end(failed);
        attempts.delete(number);
      },
      hash: async (address, work) => (await this.#parts.promise).state.hashing.hash(address, work),
      send: async (...mail) => (await mailer()).send(...mail),
      sendLater: async (...mail) => (await mailer()).sendLater(...mail),
      demandPlace: async () => (await mailer()).demandPlace(),
      push: async () => (await this.#parts.promise).push(),
    };
  }
}

const nothing = () => undefined;
/** Certificates and tickets are the workers' own. */
const NO_LISTENER = { tls: undefined, serve: nothing, certificateEnd: nothing, reload: nothing, setTicketKey: nothing };

/** Work of a worker: the three listeners, and its share of what each process bounds by itself. */
function configOfWorker(config: KeyServerConfig): KeyServerConfig {
  const { processes = 1, publication, limits } = config;
  const shared = ['clientConnections', 'clientConnectionsPerAddress', 'openDocumentsPerAddress'] as const;
  const shares = shared.map((name) => [name, Math.ceil((limits?.[name] ?? DEFAULT_LIMITS[name]) / processes)]);
  return {
    ...config,
    ...{ admin: undefined, dispatcher: undefined, httpcrypt: undefined, metrics: undefined },
    publication: publication && { ...publication, push: [] },
    limits: { ...limits, ...Object.fromEntries(shares) },
  };
}

function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

/** Readers of a cluster who ask for keys, connect devices and sign in without a pause, and try each thing twice at most. */
import { setTimeout as wait } from 'node:timers/promises';
import { acceptBinding, BINDING_PATH, encodeBindingRequest, normaliseCode } from '../../core/keys/binding.ts';
import { encodeKeyRequest, KEY_REQUEST_PATH, openKeyAnswer } from '../../core/keys/key-request.ts';
import { unwrapKey } from '../../core/keys/wrapped-key.ts';
import { nowInSeconds } from '../../node-support/clock.ts';
import { type Cluster, newClient, ORIGINS } from './cluster.ts';
import { type BoundDevice, createDeviceKeys } from './device.ts';
import { setOf } from './publisher-with-sets.ts';
import { createVisitor, type Visitor } from './reading-site-visitor.ts';

/** Milliseconds after which a reader tries again: HAProxy offers a new connection to each key server, until one takes it. */
const AGAIN_AFTER = 1000;
/** Devices that try to be connected by the same code at once. */
const RIVALS = 2;
/** Rounds that each reader does from beginning to end before the next thing happens to the cluster. */
const ROUNDS = 4;

type Client = ReturnType<typeof newClient>;

/** A reader with a password. */
export interface Account {
  readonly name: string;
  readonly password: string;
}

/** Outcome of one code. */
interface Race {
  readonly statuses: readonly number[];
  readonly connected: readonly BoundDevice[];
}

export class ReadersUnderLoad {
  readonly races: Race[] = [];
  /** Key requests that were answered. */
  readonly answered: { readonly request: Uint8Array; readonly device: BoundDevice }[] = [];
  readonly signedIn: Visitor[] = [];
  /** Reasons for trying again. */
  readonly again: string[] = [];
  readonly #cluster: Cluster;
  readonly #loops: Promise<void>[];
  readonly #rounds: number[] = [];
  #failure: Error | undefined;
  #isOver = false;
  #outage: Promise<unknown> | undefined;

  constructor(cluster: Cluster, account: Account) {
    this.#cluster = cluster;
    const clients = ['127.0.2.1', '127.0.2.2'].map((address) => newClient(cluster.balancer, address));
    this.#loops = [
      ...clients.map((client) => this.#asker(client)),
      this.#repeat(async () => void (await this.#race())),
      this.#repeat(() => this.#signIn(account)),
    ];
  }

  /** Resolves when each reader has gone on for a while. @throws what failed twice */
  async goOn(): Promise<void> {
    const before = [...this.#rounds];
    while (this.#rounds.some((rounds, index) => rounds < (before[index] ?? 0) + ROUNDS)) {
      if (this.#failure) throw this.#failure;
      await wait(20);
    }
  }

  /** Does `work`, during which the site is away: readers who have failed try again only when it is back. */
  async without(work: () => Promise<unknown>): Promise<void> {
    const outage = work();
    this.#outage = outage;
    await outage;
    this.#outage = undefined;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#loops);
  }

  /** Asks for a key, and insists that it is the right one. */
  async askForKey(client: Client, device: BoundDevice): Promise<void> {
    const set = setOf(this.#cluster.publisher, 'day-1');
    const { deviceKey } = device;
    const request = await encodeKeyRequest(deviceKey, ORIGINS.keyServer, [set.id], nowInSeconds());
    const { status, body } = await postBy(client, KEY_REQUEST_PATH, request);
    if (status !== 200) throw new Error(`key request: ${status}`);
    const [wrapped] = (await openKeyAnswer(body, request, deviceKey.key)).keys;
    const key = wrapped && (await unwrapKey(deviceKey, wrapped, nowInSeconds()));
    if (!key || !set.key.every((byte, index) => byte === key[index])) throw new Error('another key');
    this.answered.push({ request, device });
  }

  async #repeat(round: () => Promise<void>): Promise<void> {
    const index = this.#rounds.push(0) - 1;
    try {
      while (!this.#isOver && !this.#failure) {
        await round();
        this.#rounds[index] = (this.#rounds[index] ?? 0) + 1;
      }
    } catch (error) {
      this.#failure ??= error as Error;
    }
  }

  async #asker(client: Client): Promise<void> {
    let device: BoundDevice | undefined;
    await this.#repeat(async () => {
      device ??= (await this.#race()).connected[0];
      if (!device) throw new Error('no device was connected');
      const own = device;
      await this.#twice(() => this.askForKey(client, own));
    });
  }

  /** Has several devices try one new code. */
  async #race(): Promise<Race> {
    const number = this.races.length;
    // The address is another one each time: a device that comes too late has failed, and failures are counted.
    const client = newClient(this.#cluster.balancer, `127.1.${number >> 8}.${number & 255}`);
    const { code } = await this.#twice(() => this.#cluster.invite(`reader ${number}`));
    const tried = await Promise.all(Array.from({ length: RIVALS }, () => this.#connect(client, code)));
    const race = {
      statuses: tried.map(({ status }) => status),
      connected: tried.flatMap(({ device }) => device ?? []),
    };
    this.races.push(race);
    return race;
  }

  async #connect(client: Client, code: string): Promise<{ status: number; device?: BoundDevice }> {
    const provider = { keyServer: ORIGINS.keyServer, publisher: this.#cluster.publisher.root.id };
    const keys = await createDeviceKeys(provider);
    return this.#twice(async () => {
      const request = encodeBindingRequest(keys, provider.publisher, normaliseCode(code) ?? '', nowInSeconds());
      const { status, body } = await postBy(client, BINDING_PATH, request);
      if (status === 403) return { status };
      if (status !== 200) throw new Error(`binding: ${status}`);
      return { status, device: { keys, provider, deviceKey: await acceptBinding(request, body, keys, provider) } };
    });
  }

  async #signIn({ name, password }: Account): Promise<void> {
    const visitor = createVisitor(ORIGINS.readingUrl, newClient(this.#cluster.balancer, '127.0.2.4').dispatcher);
    await this.#twice(async () => {
      const { status } = await visitor.signIn(name, password);
      if (status !== 303) throw new Error(`sign-in: ${status}`);
    });
    this.signedIn.push(visitor);
  }

  /** The retry. @throws what failed the second time */
  async #twice<Result>(attempt: () => Promise<Result>): Promise<Result> {
    try {
      return await attempt();
    } catch (error) {
      const { message } = error as Error;
      this.again.push(message);
      await (this.#outage ?? wait(AGAIN_AFTER));
      return attempt().catch((cause: Error) => {
        throw new Error(`failed twice: ${message}, then ${cause.message}`, { cause });
      });
    }
  }
}

/** Posts to the API of whichever key server. */
export async function postBy({ dispatcher }: Client, path: string, body: Uint8Array) {
  const answer = await dispatcher.request({ origin: ORIGINS.keyServer, path, method: 'POST', body });
  return { status: answer.statusCode, body: await answer.body.bytes() };
}

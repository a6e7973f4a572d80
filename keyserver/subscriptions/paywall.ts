/** Asks the publisher's own system who may read which plan, and remembers its answers: docs/subscriptions.md, "Your own paywall". */
import { Agent } from 'undici';
import { reasonOf } from '../../core/errors.ts';
import type { KeyServerConfig } from '../config/config.ts';
import { readSecretFile } from '../config/secret-file.ts';
import { misconfigured } from '../errors.ts';
import type { KeyServerState } from '../storage/state.ts';
import { recordAnswer } from './paywall-note.ts';
import { type AnsweredPlan, askPaywall, type PaywallAddress, TIME_LIMIT } from './paywall-question.ts';

/** Questions at a time. A subscriber beyond them reads by the last answer. */
const MOST_QUESTIONS = 32;
/** Seconds between two questions about a subscriber while there is no answer. */
const RETRY_AFTER = 60;

type State = Pick<KeyServerState, 'counts' | 'database' | 'now'>;

interface PaywallSettings extends PaywallAddress {
  /** Seconds for which an answer is not asked for again. */
  readonly cache: number;
  /** Seconds for which a plan without an end outlasts the last answer. */
  readonly outage: number;
}

/** Log of the paywall, with neither names nor answers. */
interface PaywallLog {
  warn(message: string): void;
  warn(fields: object, message: string): void;
}

interface AskedSubscriber {
  readonly id: number;
  readonly name: string;
  readonly asked: number | null;
  readonly answered: number | null;
}

/** @returns `undefined` where the configuration names none @throws KeyServerError `configuration-invalid` */
export function createPaywall(config: KeyServerConfig, state: State, log: PaywallLog): Paywall | undefined {
  const settings = paywallSettings(config);
  return settings && new Paywall(settings, state, log);
}

/** @throws KeyServerError `configuration-invalid` where the secret cannot be read */
export function paywallSettings({ entitlement }: KeyServerConfig): PaywallSettings | undefined {
  if (entitlement === undefined) return undefined;
  const { url, secretFile, cacheMinutes, outageHours } = entitlement;
  return { url, secret: secretIn(secretFile), cache: cacheMinutes * 60, outage: outageHours * 3600 };
}

/** Standard Webhooks: `whsec_` and base64 of 24 to 64 bytes. */
function secretIn(file: string): Uint8Array {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(readSecretFile(file)) ?? [];
  const secret = Buffer.from(text ?? '', 'base64');
  if (secret.length >= 24 && secret.length <= 64) return secret;
  throw misconfigured(`${file} has no secret of the form whsec_… with 24 to 64 bytes`);
}

export class Paywall {
  readonly #settings: PaywallSettings;
  readonly #state: State;
  readonly #log: PaywallLog;
  readonly #agent = new Agent({ connections: MOST_QUESTIONS, connect: { timeout: TIME_LIMIT } });
  readonly #underWay = new Map<number, Promise<void>>();
  #isSilent = false;

  constructor(settings: PaywallSettings, state: State, log: PaywallLog) {
    this.#settings = settings;
    this.#state = state;
    this.#log = log;
  }

  /**
   * Asks about a subscriber where the last answer is too old, and waits for the answer; about a member, it asks about the group. Without an
   * answer, the last one counts.
   */
  readonly renew = async (subscriber: number): Promise<void> => {
    const whom = await this.#find(subscriber);
    if (!whom) return;
    const underWay = this.#underWay.get(whom.id);
    if (underWay) return underWay;
    if (!this.#isDue(whom) || this.#underWay.size >= MOST_QUESTIONS) return;
    const question = this.#ask(whom).finally(() => this.#underWay.delete(whom.id));
    this.#underWay.set(whom.id, question);
    return question;
  };

  async close(): Promise<void> {
    await this.#agent.destroy();
    await Promise.allSettled(this.#underWay.values());
  }

  async #find(subscriber: number): Promise<AskedSubscriber | undefined> {
    const sql = `SELECT id, name, asked, answered FROM subscribers LEFT JOIN entitlements ON entitlements.subscriber = id
      WHERE id = coalesce((SELECT member_of FROM subscribers WHERE id = ?), ?) AND revoked IS NULL`;
    return this.#state.database.first<AskedSubscriber>(sql, subscriber, subscriber);
  }

  #isDue({ asked, answered }: AskedSubscriber): boolean {
    const pause = asked === answered ? this.#settings.cache : RETRY_AFTER;
    return asked === null || this.#state.now() - asked >= pause;
  }

  async #ask({ id, name, asked }: AskedSubscriber): Promise<void> {
    const { database, now } = this.#state;
    const time = now();
    // A claim lets one key server ask.
    const claim = `INSERT INTO entitlements (subscriber, asked) VALUES (?, ?)
      ON CONFLICT (subscriber) DO UPDATE SET asked = excluded.asked WHERE entitlements.asked = ?`;
    if ((await database.run(claim, id, time, asked ?? -1)) === 0) return;
    const answer = await this.#answerTo(name, time);
    if (!answer) return;
    const unknown = await database.transaction(async () => {
      await database.run('UPDATE entitlements SET answered = ? WHERE subscriber = ? AND asked = ?', time, id, time);
      return recordAnswer(database, id, answer, time, this.#settings.outage);
    });
    for (const plan of new Set(unknown))
      this.#log.warn({ plan }, 'the paywall named a plan that there is not: "wispr admin plan" makes it');
  }

  /** `undefined`: there was none. Said once, until there is one again. */
  async #answerTo(name: string, time: number): Promise<readonly AnsweredPlan[] | undefined> {
    try {
      const answer = await askPaywall(this.#agent, this.#settings, name, time);
      if (this.#isSilent) this.#log.warn('the paywall answers again');
      this.#isSilent = false;
      return answer;
    } catch (error) {
      this.#state.counts.add('paywall-failed');
      if (!this.#isSilent)
        this.#log.warn(`the paywall gives no usable answer, so the last one counts: ${reasonOf(error)}`);
      this.#isSilent = true;
      return undefined;
    }
  }
}

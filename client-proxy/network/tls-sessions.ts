/** Sessions of TLS 1.3 for later connections to the same place, in memory only. Each is used once: shown twice, it would tell the network that both connections are of one Reader (RFC 8446, appendix C.4). */
import { LRUCache } from 'lru-cache';
import { LIMITS } from '../limits.ts';

export class TlsSessions {
  readonly #sessions = new LRUCache<string, readonly Buffer[]>({
    maxSize: LIMITS.sessionBytes,
    sizeCalculation: (sessions) =>
      Math.max(
        1,
        sessions.reduce((bytes, { length }) => bytes + length, 0),
      ),
    ttl: LIMITS.sessionLife,
  });

  /** Removes a session, and returns it. @param place - name in the certificate, host and port: a resumed session skips the check of the certificate */
  consume(place: string): Buffer | undefined {
    const kept = this.#sessions.get(place);
    if (kept) this.#sessions.set(place, kept.slice(0, -1), { noUpdateTTL: true });
    return kept?.at(-1);
  }

  store(place: string, session: Buffer): void {
    this.#sessions.set(place, [...(this.#sessions.get(place) ?? []), session].slice(-LIMITS.sessionsPerPlace));
  }
}

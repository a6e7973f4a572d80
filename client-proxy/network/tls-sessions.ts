/** Sessions of TLS 1.3 for later connections to the same place, in memory only. Each is used once: shown twice, it would tell the network that both connections are of one Reader (RFC 8446, appendix C.4). */
import { LRUCache } from 'lru-cache';
import { LIMITS } from '../limits.ts';

export class TlsSessions {
  readonly #kept = new LRUCache<string, readonly Buffer[]>({ max: LIMITS.sessionPlaces, ttl: LIMITS.sessionLife });

  /** @param place - name in the certificate, host and port: where a session is resumed, no certificate is checked */
  take(place: string): Buffer | undefined {
    const kept = this.#kept.get(place);
    if (kept) this.#kept.set(place, kept.slice(0, -1), { noUpdateTTL: true });
    return kept?.at(-1);
  }

  keep(place: string, session: Buffer): void {
    this.#kept.set(place, [...(this.#kept.get(place) ?? []), session].slice(-LIMITS.sessionsPerPlace));
  }
}

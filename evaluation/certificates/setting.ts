/** Facts that both sides know: names, ports, and ways to a key. */
import type { MeasuredServer } from '../../bench/key-server.ts';

/** Name of the servers, as their certificates have it. */
export const SERVER = 'server.example';
export const KEYS_PORT = 9001;
export const HTTPCRYPT_PORT = 9002;
export const FAR_RELAY_PORT = 9003;
export const NEAR_RELAY_PORT = 9004;

/** Ways in their order: each second one follows its first. */
export const KEY_WAYS = ['HTTPS, full', 'HTTPS, resumed', 'HTTPCrypt, first', 'HTTPCrypt, ticket'] as const;
export type KeyWay = (typeof KEY_WAYS)[number];

export interface KeyRequestSetting {
  readonly facts: MeasuredServer;
  /** PEM of the authority behind HTTPS. */
  readonly root: string;
}

/** `prepare`: everything that is not part of the request. */
export interface KeyRequestCommand {
  readonly do: 'prepare' | 'ask';
  readonly way: KeyWay;
}

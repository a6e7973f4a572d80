/** Parts of the API. */
import type { AppOptions } from '../http/app.ts';
import type { Mailer } from '../mail/mailer.ts';
import type { Origins } from '../publication/import-bundle.ts';
import type { TimestampKeeper } from '../publication/keeper.ts';
import type { ProviderReader } from '../publication/provider.ts';
import type { KeyServerState } from '../storage/state.ts';

export interface ApiOptions extends AppOptions {
  readonly state: KeyServerState;
  readonly provider: ProviderReader;
  readonly origins: Origins;
  readonly keeper: TimestampKeeper;
  /** Seconds between two timestamps. */
  readonly interval: number;
  /** `undefined`: events of Stripe are not taken. */
  readonly stripe: StripeConfig | undefined;
  /** `undefined`: no mail is sent. */
  readonly mailer: Mailer | undefined;
}

/** Secret that Stripe signs its events with, and the plan that each of its prices is. */
export interface StripeConfig {
  readonly secret: string;
  readonly plans: Readonly<Record<string, string>>;
}

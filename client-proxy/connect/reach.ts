/** Network options of commands that connect to other machines. */
import type { AllowLocal } from '../../node-support/addresses.ts';
import type { ConnectTo } from '../network/connect-to.ts';
import { parseAllowLocal } from '../network/local-addresses.ts';
import { Upstream } from '../network/upstream.ts';
import { chooseSettings } from '../store/settings.ts';
import type { ReaderStore } from '../store/store.ts';

/** Options as they go to the running Reader, too. */
export interface Reach {
  readonly connectTo?: readonly ConnectTo[] | undefined;
  /** Addresses that may be reached on this computer and in its own network. */
  readonly allowLocal?: readonly AllowLocal[] | undefined;
  /** PEM of a certificate authority to trust besides the usual ones. */
  readonly ca?: string | undefined;
}

/** Lets `work` connect as the request says, or else as the Reader that runs. @param running - of that one */
export async function reaching<Result>(
  { store, running }: { readonly store: ReaderStore; readonly running?: Upstream | undefined },
  { connectTo = [], allowLocal: rules = [], ca }: Reach,
  work: (upstream: Upstream) => Promise<Result>,
): Promise<Result> {
  const hasOwn = connectTo.length > 0 || rules.length > 0 || ca !== undefined;
  if (running && !hasOwn) return work(running);
  const allowLocal = rules.map(({ text }) => parseAllowLocal(text)); // a rule comes over the socket as text
  await using upstream = new Upstream({ connectTo, ca, ...chooseSettings({ allowLocal }, store.preferences) });
  return await work(upstream);
}

/** The relays of certificate substitution: docs/spec/link.md. */
export { startFar } from './relay/far.ts';
export type { RunningRelay } from './relay/listening.ts';
export { type NearOptions, startNear } from './relay/near.ts';

/** Why a request ends whose client is gone: nobody is told of it, and nothing went wrong. */

import { innermost } from '../../node-support/system-error.ts';

/** Made once: most requests that end early end with it, and where from says nothing to anybody. */
export const CLIENT_LEFT = new Error('the client left');

/** Whether that is all that happened, also where it stands behind what a host seemed to have done. */
export function isClientGone(error: unknown): boolean {
  return innermost(error) === CLIENT_LEFT;
}

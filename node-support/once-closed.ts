import type { ServerResponse } from 'node:http';

/**
 * Calls `closed` once when an answer has ended or its client has left. To be used wherever something was awaited since the request came: where
 * the client has left meanwhile, `close` is not emitted again, and `closed` is called at once.
 *
 * @returns takes it back
 */
export function onceClosed(answer: ServerResponse, closed: () => void): () => void {
  if (answer.destroyed) closed();
  else answer.once('close', closed);
  return () => void answer.off('close', closed);
}

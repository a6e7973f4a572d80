/** Back-pressure of answers. */
import type { ServerResponse } from 'node:http';

/** Resolves when a response takes more, or its connection is closed. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

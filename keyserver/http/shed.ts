import type { RequestHandler, Response } from 'express';
import { load } from '../../node-support/load.ts';
import { onceClosed } from '../../node-support/once-closed.ts';
import { retryAfter } from './limits.ts';

/** Refuses messages that are here whole with 503 where there is too much to do, after which `refuse` writes the body. */
export function shed(refuse: (response: Response) => void): RequestHandler {
  return (_request, response, next) => {
    const taken = load.begin();
    if (!taken) return refuse(retryAfter(response, load.pause()));
    onceClosed(response, taken.end);
    next();
  };
}

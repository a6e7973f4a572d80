/** Exchanges that are passed on to the server behind: docs/spec/httpcrypt.md, "Requests" and "Answers". */
import type { Dispatcher } from 'undici';
import { endToEndFields } from '../../node-support/end-to-end-fields.ts';
import type { InnerAnswer, InnerRequest } from '../listener.ts';

/** Fields of a request that are said anew, or that undici does not send. */
const SAID_ANEW = ['content-length', 'expect', 'forwarded', 'host', 'trailer', 'x-real-ip'];

/** Answers with what the server at `origin` answers; with 502 where it gives no answer. */
export function forwardTo(origin: string, dispatcher: Dispatcher): (inner: InnerRequest) => Promise<InnerAnswer> {
  return async ({ method, authority, path, fields, body, address, onceClosed }) => {
    const leaving = new AbortController();
    onceClosed(() => leaving.abort());
    const forged = fields.filter((name, index) => index % 2 === 0 && isForAProxy(name));
    const isEmpty = body instanceof Uint8Array && body.length === 0;
    try {
      // A URL would change the path: dot segments, and signs that are not of ASCII.
      const answer = await dispatcher.request({
        origin,
        path,
        method: method as Dispatcher.HttpMethod,
        headers: [...endToEndFields(fields, [...SAID_ANEW, ...forged]), 'host', authority, 'x-forwarded-for', address],
        body: isEmpty ? null : body,
        signal: leaving.signal,
        responseHeaders: 'raw',
      });
      const raw = answer.headers as unknown as string[];
      return { status: answer.statusCode, fields: endToEndFields(raw, []), body: answer.body };
    } catch {
      return { status: 502, fields: [], body: new Uint8Array(0) };
    }
  };
}

/** Tells whether only a proxy may say a field to the server behind, or CGI and its like would take it for one: X_Forwarded_For. @param name - in lower case */
function isForAProxy(name: string): boolean {
  return name.startsWith('x-forwarded-') || name.includes('_');
}

/** The server behind, and exchanges that are passed on to it: docs/spec/httpcrypt.md, "Requests" and "Answers". */
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { endToEndFields } from '../../node-support/end-to-end-fields.ts';
import { systemCode, systemReason } from '../../node-support/system-error.ts';
import type { InnerAnswer, InnerRequest } from '../listener.ts';

/** Fields of a request that are said anew, or that undici does not send. */
const SAID_ANEW = ['expect', 'forwarded', 'host', 'trailer', 'x-real-ip'];
/** Milliseconds between two reports, and for the server to answer at the start. */
const [QUIET, FIRST_ANSWER] = [60_000, 5000];
/** Codes of the system where nobody listens. */
const NOBODY = new Set(['ECONNREFUSED', 'ENOTFOUND']);

export interface ServerBehind {
  /** Answers with what the server answers; with 502 where it gives no answer. */
  readonly forward: (inner: InnerRequest) => Promise<InnerAnswer>;
  /** Asks it once. */
  readonly check: () => Promise<unknown>;
}

/** @param report - hears why the server at `origin` gives no answer, once a minute at most */
export function serverBehind(origin: string, dispatcher: Dispatcher, report: (what: string) => void): ServerBehind {
  let quietUntil = 0;
  const failed = (cause: unknown) => {
    if (Date.now() < quietUntil) return;
    quietUntil = Date.now() + QUIET;
    report(
      `${origin} gave no answer that can be passed on, so a client got 502: ${systemReason(cause)}${hintOf(cause)}`,
    );
  };
  const check = async () => {
    const signal = AbortSignal.timeout(FIRST_ANSWER);
    await dispatcher.request({ origin, path: '/', method: 'HEAD', signal }).then(({ body }) => body.dump(), failed);
  };
  const forward = async ({ method, authority, path, fields, body, address, onceClosed }: InnerRequest) => {
    const leaving = new AbortController();
    onceClosed(() => leaving.abort());
    const forged = fields.filter((name, index) => index % 2 === 0 && isForAProxy(name));
    const isStream = body instanceof Readable;
    // The length of a stream is the one that the client says, and was checked; that of bytes is their own, and none is said where they were dropped.
    const kept = endToEndFields(fields, [...SAID_ANEW, ...forged, ...(isStream ? [] : ['content-length'])]);
    try {
      // A URL would change the path: dot segments, and signs that are not of ASCII.
      const answer = await dispatcher.request({
        origin,
        path,
        method: method as Dispatcher.HttpMethod,
        headers: [...kept, 'host', authority, 'x-forwarded-for', address],
        body: isStream || body.length > 0 ? body : null,
        signal: leaving.signal,
        responseHeaders: 'raw',
      });
      const raw = answer.headers as unknown as string[];
      return { status: answer.statusCode, fields: endToEndFields(raw, []), body: answer.body };
    } catch (error) {
      const isOfClient =
        leaving.signal.aborted || (isStream && body.errored) || systemCode(error) === 'UND_ERR_INVALID_ARG';
      if (!isOfClient) failed(error);
      return { status: 502, fields: [], body: new Uint8Array(0) };
    }
  };
  return { forward, check };
}

function hintOf(error: unknown): string {
  return NOBODY.has(systemCode(error) ?? '') ? '; start the server there, or name another by --to' : '';
}

/** Tells whether only a proxy may say a field to the server behind, or CGI and its like would take it for one: X_Forwarded_For. @param name - in lower case */
function isForAProxy(name: string): boolean {
  return name.startsWith('x-forwarded-') || name.includes('_');
}

/** A reader's browser without a screen: keeps cookies, sends what browsers send, follows nothing by itself, decodes nothing. */
import type { IncomingHttpHeaders } from 'node:http';
import { getGlobalDispatcher } from 'undici';

export interface Page {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly text: string;
}

export interface Visitor {
  readonly get: (path: string, headers?: Record<string, string>, method?: 'GET' | 'HEAD') => Promise<Page>;
  /** Sends a form as a page of the same origin does, unless `headers` say otherwise. */
  readonly post: (
    path: string,
    fields: Record<string, string> | string,
    headers?: Record<string, string>,
  ) => Promise<Page>;
  readonly cookies: Map<string, string>;
}

export function createVisitor(origin: string): Visitor {
  const cookies = new Map<string, string>();
  const send = async (
    path: string,
    options: { method: 'GET' | 'HEAD' | 'POST'; headers: Record<string, string>; body?: string },
  ) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie && { cookie }), ...options.headers };
    // The path as it is: a URL would tidy it up.
    const response = await getGlobalDispatcher().request({ origin, path, ...options, headers });
    for (const line of [response.headers['set-cookie'] ?? []].flat()) keep(cookies, line);
    const body = Buffer.from(await response.body.arrayBuffer());
    return { status: response.statusCode, headers: response.headers, body, text: body.toString() };
  };
  return {
    cookies,
    get: (path, headers = {}, method = 'GET') => send(path, { method, headers }),
    post: (path, fields, headers = { origin }) =>
      send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
      }),
  };
}

function keep(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  if (value === '') cookies.delete(name);
  else cookies.set(name, value);
}

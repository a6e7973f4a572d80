/** Readers' browsers without a screen: each keeps cookies, sends what browsers send, decodes nothing, and follows nothing by itself but the way into the documents. */
import type { IncomingHttpHeaders } from 'node:http';
import { Agent, type Dispatcher, getGlobalDispatcher } from 'undici';

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
  /** Uses the code of an invitation; without a password there will be none. */
  readonly join: (code: string, password?: string) => Promise<Page>;
  readonly signIn: (name: string, password: string, to?: string) => Promise<Page>;
  readonly cookies: Map<string, string>;
}

/** The forms of the account, by whatever sends them. */
function forms(post: Visitor['post']): Pick<Visitor, 'post' | 'join' | 'signIn'> {
  return {
    post,
    join: (code, password) => post('/-/join', { code, ...(password !== undefined && { password }) }),
    signIn: (name, password, to = '/') => post('/-/sign-in', { name, password, to }),
  };
}

/** Names below `localhost` are resolved by browsers, and not by every system. */
const loopback = new Agent({
  connect: { lookup: (_host, _options, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) },
});

/** @param dispatcher - the way to the origin, where it is not that of this process */
export function createVisitor(origin: string, dispatcher?: Dispatcher): Visitor {
  const cookies = new Map<string, string>();
  const way = dispatcher ?? (new URL(origin).hostname.endsWith('.localhost') ? loopback : getGlobalDispatcher());
  const send = async (
    path: string,
    options: { method: 'GET' | 'HEAD' | 'POST'; headers: Record<string, string>; body?: string },
  ) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers = { ...(cookie && { cookie }), ...options.headers };
    // The path as it is: a URL would tidy it up.
    const response = await way.request({ origin, path, ...options, headers });
    for (const line of [response.headers['set-cookie'] ?? []].flat()) keep(cookies, line);
    const body = Buffer.from(await response.body.arrayBuffer());
    return { status: response.statusCode, headers: response.headers, body, text: body.toString() };
  };
  return {
    cookies,
    get: (path, headers = {}, method = 'GET') => send(path, { method, headers }),
    ...forms((path, fields, headers = { origin }) =>
      send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
      }),
    ),
  };
}

/** Fields that the form of a page takes to the documents' origin. */
export function handedOver({ text }: Page): { readonly action: string | undefined; readonly code: string | undefined } {
  const [, action] = /action="([^"]*)" id="hand-over"/.exec(text) ?? [];
  const [, code] = /name="code" value="([^"]*)"/.exec(text) ?? [];
  return { action: action?.replaceAll('&amp;', '&'), code };
}

/** A browser at both origins of the reading site. Paths below `/-/` are asked for at the account's, all others at the documents'. */
export interface Reader extends Visitor {
  /** Cookies of the documents' origin; `cookies` are those of the account's. */
  readonly documents: Visitor;
  /** Goes the way from one origin to the other, as far as it leads. */
  readonly enter: () => Promise<Page>;
}

export function createReader(
  { readingUrl, documentsUrl }: { readonly readingUrl: string; readonly documentsUrl: string },
  dispatcher?: Dispatcher,
): Reader {
  const [account, documents] = [createVisitor(readingUrl, dispatcher), createVisitor(documentsUrl, dispatcher)];
  const enter = async () => {
    const page = await account.get('/-/enter?to=/');
    const { code } = handedOver(page);
    return code === undefined ? page : documents.post('/', { code }, { origin: readingUrl });
  };
  return {
    cookies: account.cookies,
    documents,
    enter,
    get: (path, ...rest) => (path.startsWith('/-/') ? account : documents).get(path, ...rest),
    ...forms(async (...form) => {
      const page = await account.post(...form);
      if (page.headers['set-cookie']) await enter();
      return page;
    }),
  };
}

function keep(cookies: Map<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
  if (value === '') cookies.delete(name);
  else cookies.set(name, value);
}

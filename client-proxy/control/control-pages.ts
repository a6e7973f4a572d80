/** The Reader's own pages: which there are, and that only their own forms change something. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ReaderError } from '../errors.ts';
import { type ControlAnswer, sendAnswer } from './answer.ts';
import type { AskedHost, Guard } from './guard.ts';

/** A request for one of these pages. */
export interface ControlCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly asked: AskedHost;
  /** Path and query. */
  readonly target: string;
  /** In absolute form: a browser that uses the Reader as its proxy for everything. */
  readonly throughProxy: boolean;
}

/** What a handler is told of a request. */
export interface Asked extends ControlCall {
  readonly query: URLSearchParams;
  /** What the stars of the route stand for. */
  readonly parts: readonly string[];
}

export interface Route {
  /** A path; a segment `*` stands for any one segment of letters, digits, `-` and `_`. */
  readonly path: string;
  readonly show?: (asked: Asked) => Promise<ControlAnswer>;
  /** Called only with a form that the guard let pass. */
  readonly change?: (form: URLSearchParams, asked: Asked) => Promise<ControlAnswer>;
}

export class ControlPages {
  readonly #guard: Guard;
  readonly #routes: readonly Route[];

  constructor(guard: Guard, routes: readonly Route[]) {
    this.#guard = guard;
    this.#routes = routes;
  }

  /** @throws ReaderError `page-unknown`, those of the guard, and whatever the page met */
  async serve(call: ControlCall): Promise<void> {
    const { request, response, target } = call;
    const [path = '', query = ''] = target.split(/\?(.*)/s);
    const found = this.#find(path);
    if (found === undefined) throw new ReaderError('page-unknown', 'the Reader has no page at this address');
    const asked: Asked = { ...call, query: new URLSearchParams(query), parts: found.parts };
    const { show, change } = found.route;
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (show === undefined) throw new ReaderError('page-unknown', 'forms are posted to this address');
      sendAnswer(response, await show(asked), request.method === 'GET');
    } else {
      if (change === undefined) throw new ReaderError('method-refused', 'this page can only be read');
      sendAnswer(response, await change(await this.#guard.readForm(request, call.asked), asked), true);
    }
  }

  #find(path: string): { route: Route; parts: string[] } | undefined {
    for (const route of this.#routes) {
      const parts = match(route.path, path);
      if (parts) return { route, parts };
    }
    return undefined;
  }
}

function match(pattern: string, path: string): string[] | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')];
  if (wanted.length !== given.length) return undefined;
  const fits = wanted.every((part, index) =>
    part === '*' ? /^[\w-]{1,64}$/.test(given[index] ?? '') : part === given[index],
  );
  return fits ? given.filter((_, index) => wanted[index] === '*') : undefined;
}

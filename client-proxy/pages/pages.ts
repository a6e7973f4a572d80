/** The Reader's own pages: which there are, and that only their own forms change something. */
import type { ServerResponse } from 'node:http';
import { READER_INVITATION_PATH } from '../../core/site/open-in-reader.ts';
import { ReaderError } from '../errors.ts';
import { LIMITS } from '../limits.ts';
import { acceptProposal, showProposal } from './confirm.ts';
import { declineSite, inspectLink, inspectSite, showConnect, showInvitation } from './connect.ts';
import type {
  PageAnswer,
  PageCall,
  PageHandler,
  PageRequest,
  PagesContext,
  PagesOptions,
  SubmitHandler,
} from './context.ts';
import { disconnect, showDisconnect } from './disconnect.ts';
import { Guard } from './guard.ts';
import { clearActivity, showHome } from './home.ts';
import { lock, showLocked, unlock } from './lock.ts';
import { Activity, type Observations, Observed } from './noticed.ts';
import { Proposals } from './proposals.ts';
import { saveSettings, showSettings } from './settings.ts';
import { CONTROL_HEADERS } from './template.ts';

interface Route {
  readonly show?: PageHandler;
  readonly change?: SubmitHandler;
  /** Takes a form that a page of another site has sent, and changes nothing. */
  readonly fillIn?: SubmitHandler;
}

/** Routes by path; a star stands for one segment of letters, digits, `-` and `_`. */
const ROUTES: Readonly<Record<string, Route>> = {
  '/': { show: unlocked(showHome) },
  '/connect': { show: unlocked(showConnect), change: inspectLink },
  '/connect/*': { show: unlocked(showProposal), change: acceptProposal },
  [READER_INVITATION_PATH]: {
    show: unlocked(async () => ({ goTo: '/connect' })),
    fillIn: (context, form, asked) => unlocked(async (open) => showInvitation(open, form))(context, asked),
  },
  '/sites/look': { change: inspectSite },
  '/sites/decline': { change: declineSite },
  '/publishers/*/disconnect': { show: unlocked(showDisconnect), change: disconnect },
  '/activity/forget': { change: clearActivity },
  '/settings': { show: showSettings, change: saveSettings },
  '/lock': { change: lock },
  '/unlock': { show: unlocked(async () => ({ goTo: '/' })), change: unlock },
};

export class Pages {
  readonly guard: Guard;
  readonly noticed: Observations;
  readonly #context: PagesContext;

  constructor(options: PagesOptions) {
    this.guard = new Guard(options.port);
    const { tunnels } = options;
    this.noticed = { activity: new Activity(), seen: new Observed(), browsers: new Observed(), tunnels };
    this.#context = { ...options, ...this.noticed, proposals: new Proposals(), token: this.guard.token };
  }

  /** @throws ReaderError `page-unknown`, `method-refused`, those of the guard; the page's own */
  async serve(call: PageCall): Promise<void> {
    const { request, response, target } = call;
    const [path = '', query = ''] = target.split(/\?(.*)/s);
    const { part, show, change, fillIn } = findRoute(path);
    const asked: PageRequest = { ...call, query: new URLSearchParams(query), part };
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (show === undefined) throw new ReaderError('page-unknown', 'forms are posted to this address');
      send(response, await show(this.#context, asked), request.method === 'GET');
    } else if (fillIn && request.method === 'POST') {
      const form = await this.guard.readForeignForm(request, call.asked);
      send(response, await fillIn(this.#context, form, asked), true);
    } else {
      if (change === undefined) throw new ReaderError('method-refused', 'this page can only be read');
      const form = await this.guard.readForm(request, call.asked);
      send(response, await change(this.#context, form, asked), true);
    }
  }
}

function findRoute(path: string): Route & { readonly part: string } {
  for (const [pattern, route] of Object.entries(ROUTES)) {
    const [before = '', after] = pattern.split('*');
    const part = after === undefined ? '' : path.slice(before.length, path.length - after.length);
    const isFound = path === before + part + (after ?? '') && (after === undefined || /^[\w-]{1,64}$/.test(part));
    if (isFound) return { part, ...route };
  }
  throw new ReaderError('page-unknown', 'the Reader has no page at this address');
}

/**
 * Lets a locked Reader ask for its passphrase in place of the page. One that has lost or forgotten everything starts afresh with a new key;
 * where a passphrase protected the old one, it asks for a new passphrase first.
 */
function unlocked(show: PageHandler): PageHandler {
  return async (context, asked) => {
    const { lock } = context;
    if (lock.isLocked && lock.isEmpty && !lock.needsNewPassphrase) await lock.unlock();
    return lock.isLocked ? showLocked(context, asked) : show(context, asked);
  };
}

function send(response: ServerResponse, answer: PageAnswer, withBody: boolean): void {
  if ('goTo' in answer) {
    response.writeHead(303, { ...CONTROL_HEADERS, location: answer.goTo, 'content-length': '0' }).end();
    return;
  }
  const { html, status = 200 } = answer;
  response.writeHead(status, {
    ...CONTROL_HEADERS,
    ...(status === 429 && { 'retry-after': String(LIMITS.unlockPause / 1000) }),
    'content-length': String(Buffer.byteLength(html)),
  });
  response.end(withBody ? html : undefined);
}

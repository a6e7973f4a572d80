/** The Reader's own pages: which there are, and that only their own forms change something. */
import type { ServerResponse } from 'node:http';
import { READER_INVITATION_PATH } from '../../core/site/open-in-reader.ts';
import { ReaderError } from '../errors.ts';
import { acceptProposal, showProposal } from './confirm.ts';
import { declineSite, lookAtLink, lookAtSite, showConnect, showInvitation } from './connect.ts';
import type { Asked, Change, PageAnswer, PageCall, PagesContext, PagesOptions, Show } from './context.ts';
import { disconnect, showDisconnect } from './disconnect.ts';
import { Guard } from './guard.ts';
import { clearActivity, showHome } from './home.ts';
import { lock, showLocked, unlock } from './lock.ts';
import { Activity, type Noticed, Observed } from './noticed.ts';
import { Proposals } from './proposals.ts';
import { saveSettings, showSettings } from './settings.ts';
import { CONTROL_HEADERS } from './template.ts';

/** By path; a star stands for one segment of letters, digits, `-` and `_`. */
const ROUTES: readonly (readonly [path: string, show: Show | undefined, change?: Change])[] = [
  ['/', unlocked(showHome)],
  ['/connect', unlocked(showConnect), lookAtLink],
  ['/connect/*', unlocked(showProposal), acceptProposal],
  [READER_INVITATION_PATH, unlocked(async () => ({ goTo: '/connect' }))],
  ['/sites/look', undefined, lookAtSite],
  ['/sites/decline', undefined, declineSite],
  ['/publishers/*/disconnect', unlocked(showDisconnect), disconnect],
  ['/activity/forget', undefined, clearActivity],
  ['/settings', showSettings, saveSettings],
  ['/lock', undefined, lock],
  ['/unlock', unlocked(async () => ({ goTo: '/' })), unlock],
];

export class Pages {
  readonly guard: Guard;
  /** For the doors to write into. */
  readonly noticed: Noticed;
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
    const { part, show, change } = findRoute(path);
    const asked: Asked = { ...call, query: new URLSearchParams(query), part };
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (show === undefined) throw new ReaderError('page-unknown', 'forms are posted to this address');
      send(response, await show(this.#context, asked), request.method === 'GET');
    } else if (request.method === 'POST' && path === READER_INVITATION_PATH) {
      const form = await this.guard.readForeignForm(request, call.asked);
      send(response, await unlocked(async (context) => showInvitation(context, form))(this.#context, asked), true);
    } else {
      if (change === undefined) throw new ReaderError('method-refused', 'this page can only be read');
      const form = await this.guard.readForm(request, call.asked);
      send(response, await change(this.#context, form, asked), true);
    }
  }
}

function findRoute(path: string): { part: string; show: Show | undefined; change: Change | undefined } {
  for (const [pattern, show, change] of ROUTES) {
    const [before = '', after] = pattern.split('*');
    const part = after === undefined ? '' : path.slice(before.length, path.length - after.length);
    const isFound = path === before + part + (after ?? '') && (after === undefined || /^[\w-]{1,64}$/.test(part));
    if (isFound) return { part, show, change };
  }
  throw new ReaderError('page-unknown', 'the Reader has no page at this address');
}

/**
 * Where a locked Reader asks for its passphrase in place of the page. One that has lost or forgotten everything starts afresh with a new key;
 * where a passphrase protected the old one, it asks for a new passphrase first.
 */
function unlocked(show: Show): Show {
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
  const isText = 'text' in answer;
  const body = isText ? `${answer.text}\n` : answer.html;
  response.writeHead(isText ? 200 : (answer.status ?? 200), {
    ...CONTROL_HEADERS,
    ...(isText && { 'content-type': 'text/plain; charset=utf-8' }),
    'content-length': String(Buffer.byteLength(body)),
  });
  response.end(withBody ? body : undefined);
}

/** The vault's page: makes this browser a device where it is none, asks for keys, and hands them to the content origin: docs/spec/web-reader.md. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { toBase64url } from '../../core/encoding/base64url.ts';
import { type DocumentKeys, sealDocumentKeys } from '../../core/keys/document-keys.ts';
import { KeyError } from '../../core/keys/errors.ts';
import { KEYS_PAGE } from '../../core/site/path.ts';
import * as words from '../../words/en/browser.ts';
import { parseWanted, SILENT } from '../bounce.ts';
import { obtainKeys } from './keys.ts';
import { KeyServerRefusal, readPage } from './page.ts';

const page = readPage();
const wanted = parseWanted(location.hash, page.documents);

async function run(): Promise<void> {
  if (isOnTheWayBack()) return history.back();
  // Opened by hand, or from a bookmark.
  if (!wanted) return location.replace('/-/account');
  const { key, sets, to } = wanted;
  const keys = await obtainKeys(page, sets);
  if (mayNotRead(keys, sets)) return location.replace(to);
  const sealed = await sealDocumentKeys(key, page.documents, keys);
  handOver(page.documents, { sealed: toBase64url(sealed), key: toBase64url(key), to });
}

/** Tells whether a window is shown what everybody may see of the page. Readers from there may read it, and would be led round and round. */
function mayNotRead({ refused }: DocumentKeys, sets: readonly KeyId[]): boolean {
  if (!page.leads || window !== top || document.referrer === `${location.origin}/`) return false;
  const isRefused = (set: KeyId) => refused.some(({ id, reason }) => id === set && reason !== 'revoked');
  return page.isVisitor || (sets.length > 0 && sets.every(isRefused));
}

/** Sends fields in the body of a form: an address would stay in the history of the window, where published scripts can read it. */
function handOver(documents: string, fields: Readonly<Record<string, string>>): void {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = documents + KEYS_PAGE;
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement('input');
    Object.assign(field, { type: 'hidden', name, value });
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}

/** Tells whether a reader goes back past this page, which stays in the window's history. */
function isOnTheWayBack(): boolean {
  const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  return navigation?.type === 'back_forward' && history.length > 1;
}

function codeOf(error: unknown): string {
  if (error instanceof KeyServerRefusal || error instanceof KeyError) return error.code;
  // IndexedDB and WebCrypto throw this where they keep or know nothing.
  return error instanceof DOMException ? 'unsupported' : 'unreachable';
}

function show(code: string): void {
  const [state, problem, actions] = ['#state', '#problem', '#actions'].map((name) =>
    document.querySelector<HTMLElement>(name),
  );
  if (!state || !problem || !actions) return;
  const [title, again] = [document.querySelector('h1'), document.querySelector<HTMLElement>('#again')];
  if (title) title.textContent = code === 'revoked' ? words.accessEnded : words.wentWrong;
  if (again) again.hidden = code === 'revoked';
  state.hidden = true;
  problem.textContent = words.keyProblems[code] ?? words.noKeys(code);
  problem.hidden = false;
  actions.hidden = false;
}

document.querySelector('#again')?.addEventListener('click', () => location.reload());
run().catch((error: unknown) => {
  // The page on show in front of this frame waits.
  if (window !== top) return location.replace(page.documents + KEYS_PAGE);
  const code = codeOf(error);
  // The session has ended meanwhile: the same address asks for signing in.
  if (code === 'not-signed-in') location.reload();
  // A page was on show before.
  else if (wanted && location.search === SILENT) location.replace(page.documents + wanted.to);
  else show(code);
});

/**
 * The button on the publisher's pages, and the sheet that it opens: who signed the page, sharing, keeping, the account. It has a shadow root of its
 * own, but a published script could draw the same, so it says nothing that readers have to rely on. On the library's own page it is the library.
 */
import { GIVE_PAGE } from '../../core/site/path.ts';
import * as words from '../../words/en/browser.ts';
import { LANGUAGE } from '../../words/en/language.ts';
import { type About, COLOURS, changeKept, element, extentOf, fetchAbout, stateOf } from '../about.ts';
import { LIBRARY } from '../names.ts';
import { openLibrary } from './library.ts';

const STYLE = `:host{all:initial!important;color-scheme:light dark}*{box-sizing:border-box;font:16px/1.4 system-ui,sans-serif}
.pill{position:fixed;right:14px;bottom:14px;z-index:2147483647;width:44px;height:44px;border-radius:22px;border:1px solid #8888;background:#fffd;color:#333;opacity:.85;cursor:pointer;padding:0}
dialog{position:fixed;inset:auto 0 0;margin:0 auto;width:100%;max-width:30em;max-height:85vh;overflow:auto;border:0;border-radius:16px 16px 0 0;padding:8px 20px 20px;background:var(--paper);color:var(--ink)}
dialog::backdrop{background:#0008}
.row{display:block;width:100%;text-align:left;padding:12px 0;border:0;border-bottom:1px solid #8884;background:none;color:inherit;text-decoration:none}[hidden]{display:none}
a,button{cursor:pointer}h2,strong{font-weight:600;margin:0;display:block}p,small{margin:2px 0 0;font-size:14px;color:var(--quiet);display:block}
progress{width:100%;accent-color:var(--accent)}.close{border:0;border-radius:8px;padding:10px 20px;margin-top:14px;background:var(--accent);color:var(--on)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
@media(prefers-color-scheme:dark){.pill{background:#1a2128ee;color:#ddd}}@media print{.pill{display:none}}`;

/** Milliseconds between two looks at how far keeping is. */
const POLL_INTERVAL = 700;

const { pathname } = location;
const isFirst = document.currentScript?.dataset.first !== undefined;
/** Element whose language is not the page's; "all" leaves out the page's direction. */
const host = element('div', LANGUAGE);
const root = host.attachShadow({ mode: 'closed' });
const pill = element('button', { className: 'pill', ariaLabel: words.aboutPage, textContent: '✓' });
const title = element('h2', { id: 'title' });
const [signed, shared, extent, status] = [element('p'), element('small'), element('small'), element('small')];
const bar = element('progress', { hidden: true, ariaLabel: words.keeping });
const share = row('button', words.share, shared);
const give = row('a', words.give, element('small', { textContent: words.aboutGiving }));
const keep = row('button', words.keepIssue, extent);
const account = row('a', words.account);
const dialog = element(
  'dialog',
  {},
  element('div', { className: 'row' }, title, signed),
  share,
  give,
  keep,
  bar,
  status,
  Object.assign(row('a', words.savedPages, element('small', { textContent: words.opensOffline })), {
    href: LIBRARY,
  }),
  account,
  element('button', { className: 'close', textContent: words.close, onclick: () => dialog.close() }),
);

function row<Name extends 'a' | 'button'>(name: Name, text: string, ...more: Node[]): HTMLElementTagNameMap[Name] {
  const made = element(name, {}, element('strong', { textContent: text }), ...more);
  made.className = 'row';
  return made;
}

let about: About;

async function show(): Promise<void> {
  about = await fetchAbout(pathname);
  const { name, isFresh, confirmed = 0, vault, set, issues, left } = about;
  title.textContent = isFresh ? words.upToDate : words.perhapsOld;
  signed.textContent = words.signedBy(name, confirmed, Math.floor(Date.now() / 1000));
  if (isFirst && vault) signed.textContent += words.openedBy(new URL(vault).host);
  shared.textContent ||= words.publicAddress;
  give.hidden = !about.gives || set === undefined || vault === undefined;
  give.href = `${vault}${GIVE_PAGE}?${new URLSearchParams({ to: pathname })}`;
  account.hidden = vault === undefined;
  if (vault !== undefined) account.href = `${vault}/-/account`;
  keep.hidden = set === undefined;
  const issue = issues.find(({ id }) => id === set);
  const called = issue?.title ?? about.title ?? '';
  extent.textContent = [called, issue?.bytes ? extentOf(issue) : '', words.free(left)].filter(Boolean).join(' · ');
  keep.disabled = issue?.running ?? false;
  bar.hidden = !issue?.running;
  status.role = 'status';
  if (!issue) return;
  status.textContent = stateOf(issue);
  if (issue.documents > 0) Object.assign(bar, { max: issue.documents, value: issue.kept });
  if (issue.running) setTimeout(() => dialog.open && show(), POLL_INTERVAL);
}

pill.onclick = async () => {
  try {
    await show();
  } catch {
    return host.remove(); // the page's policy lets it ask for nothing
  }
  root.adoptedStyleSheets[0]?.replaceSync(STYLE + COLOURS(about));
  dialog.showModal();
};

share.onclick = async () => {
  const address = { title: document.title, url: `https://${about.site}${pathname}` };
  try {
    if ('share' in navigator) return await navigator.share(address);
    await (navigator as Navigator).clipboard.writeText(address.url);
    shared.textContent = words.addressCopied;
  } catch (error) {
    if ((error as Error).name !== 'AbortError') shared.textContent = address.url;
  }
};

keep.onclick = async () => {
  await changeKept({ keep: pathname, title: document.title });
  await show();
  navigator.storage.persist(); // runs beside: some browsers ask
};

const style = new CSSStyleSheet(); // needs no permission of the page's own policy
style.replaceSync(STYLE);
root.adoptedStyleSheets = [style];
dialog.setAttribute('aria-labelledby', 'title');
root.append(element('aside', { ariaLabel: words.reader }, pill), dialog);
if (pathname === LIBRARY) openLibrary();
else document.documentElement.append(host);

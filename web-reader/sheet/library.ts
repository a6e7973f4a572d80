/** The library: what is kept in this browser, in words, with or without a network. The worker answers for its page, which has the sheet's script. */
import * as words from '../../words/en/browser.ts';
import { type About, COLOURS, changeKept, element, extentOf, fetchAbout, type ShownIssue, stateOf } from '../about.ts';

const STYLE = `:root{color-scheme:light dark}body{margin:0;font:17px/1.5 system-ui,sans-serif;background:var(--paper);color:var(--ink)}
header,main{max-width:34em;margin:0 auto;padding:14px 20px}header a{font:bold 1.2em Georgia,serif;color:inherit;text-decoration:none}header img{max-height:40px;max-width:60%;display:block}@media(prefers-color-scheme:dark){header img{padding:4px 8px;border-radius:4px;background:#faf8f4}}
.offline{background:var(--accent);color:var(--on);padding:6px 14px;border-radius:8px}h1{font-size:1.4em;margin:.4em 0}h2{font-size:1.05em;margin:0}
article,section{border-top:1px solid #8884;padding:14px 0}p{margin:4px 0;color:var(--quiet)}.offline p{color:inherit}a{color:var(--accent)}progress{width:100%;accent-color:var(--accent)}
ul{padding-left:1.2em;margin:6px 0}li{padding:4px 0;overflow-wrap:anywhere}button{font:inherit;padding:8px 14px;margin:6px 8px 0 0;border-radius:8px;border:1px solid #8888;background:none;color:inherit;cursor:pointer}
button.first{background:var(--accent);color:var(--on);border-color:var(--accent)}summary{cursor:pointer;padding:6px 0}:focus-visible{outline:3px solid var(--accent);outline-offset:2px}`;

/** State on show, as text. */
let shown: string | undefined;

/** Milliseconds between two requests for the state while something is being kept. */
const POLL_INTERVAL = 1000;

const style = new CSSStyleSheet();

/** Prompt of the browser, where it offers to put the site onto the home screen. */
let installing: (Event & { readonly prompt: () => Promise<unknown> }) | undefined;

/** Shows the library in a page that is empty. */
export function openLibrary(): void {
  document.adoptedStyleSheets = [style];
  addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    installing = event as typeof installing;
    void show();
  });
  addEventListener('online', show);
  addEventListener('offline', show);
  void show();
}

async function show(): Promise<void> {
  const about = await fetchAbout().catch(() => undefined);
  const said = JSON.stringify([about, navigator.onLine, installing !== undefined]);
  if (said === shown) return;
  shown = said;
  // Focus and open lists stay as the reader left them.
  const focused = document.activeElement?.ariaLabel;
  const open = new Set(Array.from(document.querySelectorAll('details[open]'), ({ id }) => id));
  document.body.replaceChildren(...(about ? contentOf(about) : [element('main', {}, heading())]));
  for (const details of document.querySelectorAll('details')) details.open = open.has(details.id);
  for (const button of document.querySelectorAll('button')) if (button.ariaLabel === focused) button.focus();
  if (about?.issues.some(({ running }) => running)) setTimeout(show, POLL_INTERVAL);
}

const heading = () => element('h1', { textContent: words.savedPages });

function contentOf(about: About): HTMLElement[] {
  const { name, logo, issues, opened, used, left, until } = about;
  const empty = issues.length === 0 && opened.length === 0;
  document.title = `${words.savedPages} · ${name}`;
  style.replaceSync(COLOURS(about) + STYLE);
  const masthead = logo ? element('img', { src: logo, alt: name }) : name;
  const offline = element('p', { textContent: words.offline });
  return [
    element('header', {}, element('a', { href: '/' }, masthead)),
    element(
      'main',
      {},
      element('div', { role: 'status', className: navigator.onLine ? '' : 'offline' }, !navigator.onLine && offline),
      heading(),
      empty &&
        element('p', {
          textContent: words.nothingSaved,
        }),
      ...issues.map(articleOf),
      opened.length > 0 && openedOf(opened),
      element(
        'section',
        {},
        until !== undefined && !empty && element('p', { textContent: words.opensUntil(until) }),
        element('p', { textContent: words.uses(used, left) }),
        installing && button(words.addToHome, 'first', () => installing?.prompt()),
        !empty && button(words.removeAll, '', () => changeKept({ remove: '' })),
      ),
    ),
  ];
}

function articleOf(issue: ShownIssue): HTMLElement {
  const { id, title, pages, documents, kept, left, running, bytes } = issue;
  const [first] = pages;
  const isMore = kept + left.length < documents && !running;
  return element(
    'article',
    {},
    element('h2', { textContent: title || words.keptPages }),
    element('p', { textContent: [stateOf(issue), bytes > 0 && extentOf(issue)].filter(Boolean).join(' · ') }),
    element('progress', { max: Math.max(documents, 1), value: kept, ariaLabel: `${title}: ${stateOf(issue)}` }),
    pages.length > 0 &&
      element(
        'details',
        { id },
        element('summary', { textContent: words.pagesOfIssue }),
        element('ul', {}, ...pages.map(([path, name]) => pageOf(path, textOf(name)))),
      ),
    isMore && first && button(words.keepRest, '', () => changeKept({ keep: first[0], title })),
    button(words.remove, '', () => changeKept({ remove: id }), words.removeWhat(title)),
  );
}

function openedOf(paths: readonly string[]): HTMLElement {
  return element(
    'section',
    {},
    element('h2', { textContent: words.onlyOpened }),
    element('ul', {}, ...paths.map((path) => pageOf(path, path === '/index.html' ? words.frontPage : decodeURI(path)))),
  );
}

/** Resolves character references; there is no element in it. */
function textOf(html: string): string {
  return element('textarea', { innerHTML: html.replaceAll('<', '') }).value;
}

/** A page of this origin, and of no other. */
function pageOf(path: string, text: string): HTMLElement {
  const { origin, pathname } = new URL(path, location.origin);
  const isHere = origin === location.origin;
  return element('li', {}, isHere ? element('a', { href: pathname, textContent: text || path }) : text);
}

function button(text: string, className: string, work: () => unknown, ariaLabel = text): HTMLElement {
  const onclick = async () => {
    await work();
    await show();
  };
  return element('button', { className, textContent: text, ariaLabel, onclick });
}

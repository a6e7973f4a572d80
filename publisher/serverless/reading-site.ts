/** The reading site of a site without a key server, as plain files that any host serves: docs/serverless.md. */
import type { KeyId } from '../../core/crypto/key-id.ts';
import { accentOf, ON_DARK_ACCENT, ON_LIGHT_ACCENT } from '../../core/site/accent.ts';
import { OPEN_PAGE, ROOT_WORKER } from '../../core/site/path.ts';
import { addressOf, type WebReaderFile, workerFor } from '../../node-support/web-reader-files.ts';
import { initialIcon } from '../../reading/icon.ts';
import * as words from '../../words/en/browser.ts';
import { LANGUAGE } from '../../words/en/language.ts';
import { escapeHtml } from '../../words/html.ts';
import { builtWebReader } from '../web-reader.ts';

export interface ReadingSite {
  readonly site: string;
  readonly root: KeyId;
  readonly name: string;
  readonly content: readonly string[];
  readonly accent: string | undefined;
}

const STYLE = '/-/style.css';
const SCRIPT = '/-/open.js';
const PASSWORD_SCRIPT = '/-/password.js';

/** Paths of the files. The page comes last: it names the others. */
const PATHS = [
  STYLE,
  SCRIPT,
  PASSWORD_SCRIPT,
  '/-/page.js',
  '/-/sheet.js',
  '/-/site.json',
  ROOT_WORKER,
  OPEN_PAGE,
] as const;
export const READING_SITE_FILES: readonly string[] = PATHS;

/** @throws PublishError `web-reader-missing` */
export function readingSiteFiles(about: ReadingSite): ReadonlyMap<string, Uint8Array> {
  const { site, root, content, accent } = about;
  const built = builtWebReader();
  const { open, page, password, sheet } = built;
  const described = { content, reading: content[0], root, site };
  const files: Readonly<Record<(typeof PATHS)[number], Uint8Array>> = {
    [STYLE]: Buffer.from(styleOf(accent)),
    [SCRIPT]: open.content,
    [PASSWORD_SCRIPT]: password.content,
    '/-/page.js': page.content,
    '/-/sheet.js': sheet.content,
    '/-/site.json': Buffer.from(`${JSON.stringify(described)}\n`),
    [ROOT_WORKER]: workerFor(built, { keys: OPEN_PAGE, root, site }).content,
    [OPEN_PAGE]: Buffer.from(pageOf(about, open, password)),
  };
  return new Map(PATHS.map((path) => [path, files[path]]));
}

/** Policy in the page, since no header has it. A page cannot forbid frames that way, and nothing in this one is worth a click. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'";

function pageOf({ site, root, name, accent }: ReadingSite, open: WebReaderFile, password: WebReaderFile): string {
  return `<!doctype html>
<html lang="${LANGUAGE.lang}" dir="${LANGUAGE.dir}" data-root="${root}" data-site="${site}" data-password-script="${addressOf(PASSWORD_SCRIPT, password).src}" data-password-integrity="${password.integrity}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(name)}</title>
<link rel="icon" href="${initialIcon(name, accentOf(accent))}">
<link rel="stylesheet" href="${STYLE}">
<script src="${addressOf(SCRIPT, open).src}" integrity="${open.integrity}" defer></script>
</head>
<body>
<header><p class="publisher">${escapeHtml(name)}</p>${name === site ? '' : `<p class="site">${site}</p>`}</header>
<main>
<div id="opening" role="status"><h1>${words.opening}</h1><div class="skeleton" aria-hidden="true"><span></span><span></span><span></span></div></div>
<form id="ask" hidden>
<h1 id="question"></h1>
<p id="problem" class="problem" role="alert" hidden></p>
<label id="label" for="answer"></label>
<input id="answer" required spellcheck="false" autocapitalize="off">
<button>${words.open}</button>
</form>
<div id="refusal" role="alert" hidden><h1 id="sentence"></h1><button id="act" type="button"></button></div>
<noscript><h1>${words.needsScripts}</h1></noscript>
</main>
</body>
</html>
`;
}

function styleOf(accent: string | undefined): string {
  const { light, dark } = accentOf(accent);
  return `:root{color-scheme:light dark;--ink:#1c1b19;--soft:#625c53;--paper:#faf8f4;--card:#fff;--line:#dcd7cd;--go:${light};--on:${ON_LIGHT_ACCENT};--bad:#8c1d18;--bad-paper:#fbeceb}
@media(prefers-color-scheme:dark){:root{--ink:#eceae5;--soft:#a69e92;--paper:#161513;--card:#201e1b;--line:#37342f;--go:${dark};--on:${ON_DARK_ACCENT};--bad:#ffb4ab;--bad-paper:#3b1f1c}}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;min-height:100vh;display:grid;grid-template-rows:auto 1fr;justify-items:center;gap:1.5rem;padding:clamp(1.25rem,5vw,3rem) 1.25rem 1.5rem;background:var(--paper);color:var(--ink);font:1.0625rem/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
header{text-align:center}
header p{margin:0}
.publisher{font:700 clamp(1.6rem,5vw,2.25rem)/1.15 Georgia,"Noto Serif","Times New Roman",serif}
header .site{margin-top:.35rem;color:var(--soft);font-size:.875rem}
main{align-self:start;width:100%;max-width:28rem;padding:clamp(1.25rem,5vw,2.25rem);background:var(--card);border:1px solid var(--line);border-top:3px solid var(--go);border-radius:4px}
h1{margin:0 0 1rem;font:700 1.5rem/1.25 Georgia,"Noto Serif","Times New Roman",serif}
.problem{margin:0 0 1rem;padding:.75rem 1rem;border-radius:4px;background:var(--bad-paper);color:var(--bad)}
label{display:block;margin:0 0 .3rem;font-weight:600;font-size:.9375rem}
input{width:100%;padding:.65rem .75rem;border:1px solid var(--soft);border-radius:4px;background:var(--paper);color:var(--ink);font:inherit}
button{padding:.7rem 1.25rem;border:1px solid var(--go);border-radius:4px;background:var(--go);color:var(--on);font:inherit;font-weight:600;line-height:1.3;cursor:pointer}
form button{width:100%;margin-top:1.25rem}
:focus-visible{outline:3px solid var(--go);outline-offset:2px}
.skeleton span{display:block;height:.9em;margin:.9em 0;border-radius:.3em;background:currentColor;opacity:.12}
.skeleton span:last-child{width:60%}
`;
}

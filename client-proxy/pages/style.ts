/** Look of the Reader's pages: one style sheet inside each page, named in its policy by its hash. Nothing is loaded. */
import { createHash } from 'node:crypto';

export const STYLE = `
:root {
  color-scheme: light dark;
  --ink: #1d2733; --soft: #55616d; --paper: #f7f6f2; --card: #fff; --line: #dcdfe2; --edge: #7b8691;
  --accent: #0b5d66; --on-accent: #fff; --tint: #e8f1f1; --alarm: #96231c; --alarm-tint: #fbeeec; --alarm-line: #e4bcb8
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaee; --soft: #a3afba; --paper: #12171c; --card: #1a2128; --line: #303a44; --edge: #7e8b97;
    --accent: #76c7cf; --on-accent: #12171c; --tint: #1c2f34; --alarm: #ffb3aa; --alarm-tint: #35201f; --alarm-line: #6b3733
  }
}
* { box-sizing: border-box }
body { margin: 0; padding: clamp(1rem, 5vh, 3.5rem) 1rem 3rem; background: var(--paper); color: var(--ink); font: 1.0625rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere }
header, main, footer { max-width: 40rem; margin: 0 auto }
header { display: flex; flex-wrap: wrap; gap: .25rem 1.5rem; align-items: baseline; justify-content: space-between; padding: 0 .25rem .9rem }
.brand { margin: 0; color: var(--soft); font-size: .8125rem; font-weight: 600; letter-spacing: .08em; text-transform: uppercase }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0; padding: 0; list-style: none; font-size: .9375rem }
nav a { color: var(--soft); text-decoration: none; padding: .3rem 0; display: inline-block }
nav a:hover { text-decoration: underline }
nav a[aria-current] { color: var(--ink); font-weight: 600; box-shadow: 0 2px var(--accent) }
.skip { position: absolute; left: -100vw }
.skip:focus { position: static; display: block; width: max-content; margin: 0 auto .75rem }
main { padding: clamp(1.25rem, 5vw, 2.75rem); background: var(--card); border: 1px solid var(--line); border-radius: 12px }
main:focus { outline: none }
footer { padding: 1rem .25rem; color: var(--soft); font-size: .8125rem }
h1 { margin: 0 0 .75rem; font: 600 1.625rem/1.25 Georgia, 'Times New Roman', serif }
h2 { margin: 2.25rem 0 .5rem; font: 600 1.1875rem/1.3 Georgia, 'Times New Roman', serif }
h3 { margin: 1.25rem 0 .25rem; font-size: 1rem }
.box h2, .box h3 { margin: 0 0 .25rem }
section:not(:last-child) { margin-bottom: 2rem }
section > :last-child { margin-bottom: 0 }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
p { margin: 0 0 1rem }
p:last-child { margin-bottom: 0 }
ul { margin: 0 0 1rem; padding-left: 1.25rem }
a { color: var(--accent) }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 3px }
input:focus-visible, textarea:focus-visible { outline-offset: -1px; border-radius: 8px }
.button:focus-visible, button:focus-visible { border-radius: 8px }
.box:focus { outline: none }
.soft { color: var(--soft); font-size: .9375rem }
.box { margin: 0 0 1.5rem; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: 8px; background: var(--tint) }
.box p { margin: 0 0 .4rem }
.box p:last-child { margin: 0 }
.box.alarm { background: var(--alarm-tint); border-color: var(--alarm-line) }
.box.alarm strong { color: var(--alarm) }
.action { margin: 1.75rem 0 0; display: flex; flex-wrap: wrap; gap: .75rem 1.25rem; align-items: center }
.button, button { display: inline-block; padding: .6rem 1.1rem; border: 1px solid transparent; border-radius: 8px; background: var(--accent); color: var(--on-accent); font: 600 1rem/1.5 system-ui, sans-serif; text-decoration: none; cursor: pointer }
.button:hover, button:hover { filter: brightness(1.1) }
button.quiet, .button.quiet { padding: .3rem .8rem; background: none; border-color: var(--edge); color: var(--ink); font-size: .9375rem; font-weight: 500 }
button.quiet:hover, .button.quiet:hover { border-color: var(--ink); filter: none }
button.alarm { background: var(--alarm); color: var(--card) }
.inline { display: flex; flex-wrap: wrap; gap: .5rem .75rem; margin: .75rem 0 0 }
form .field { margin: 0 0 1.4rem; padding: 0; border: 0 }
.field > label, legend { display: block; margin: 0 0 .15rem; padding: 0; font-weight: 600 }
.field .hint { margin: 0 0 .35rem; color: var(--soft); font-size: .875rem; line-height: 1.45 }
.field .wrong { margin: .35rem 0 0; color: var(--alarm); font-size: .9375rem; font-weight: 600 }
input, textarea { width: 100%; padding: .55rem .7rem; border: 1px solid var(--edge); border-radius: 8px; background: var(--card); color: var(--ink); font: 1rem/1.5 ui-monospace, 'DejaVu Sans Mono', monospace }
input[type=number] { width: 9rem }
input[aria-invalid], textarea[aria-invalid] { border: 2px solid var(--alarm) }
input[readonly] { background: var(--paper) }
input[disabled], textarea[disabled] { opacity: .75; background: var(--paper) }
.check { display: grid; grid-template-columns: 1.6rem 1fr; align-items: start }
.check input { width: 1.1rem; height: 1.1rem; margin: .3rem 0 0; accent-color: var(--accent) }
.check .hint, .check .wrong { grid-column: 2 }
.sites { list-style: none; margin: 0; padding: 0 }
.sites li { border-bottom: 1px solid var(--line) }
.sites li:first-child { border-top: 1px solid var(--line) }
.sites a, .sites p { display: block; margin: 0; padding: .8rem 0; text-decoration: none }
.sites a:hover strong { text-decoration: underline }
.sites span { display: block; color: var(--soft); font-size: .875rem; font-weight: 400 }
.log { list-style: none; margin: 0; padding: 0; font-size: .9375rem }
.log li { padding: .5rem 0; border-bottom: 1px solid var(--line) }
.log span { display: block; color: var(--soft); font-size: .8125rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; margin: 0; color: var(--soft); font-size: .875rem }
dt { font-weight: 600 }
dd { margin: 0 }
.sites + p { margin-top: .75rem }
.print { margin: 2rem 0 0; padding-top: 1rem; border-top: 1px solid var(--line) }
details { margin: 1.25rem 0 0; color: var(--soft); font-size: .9375rem }
summary { width: max-content; max-width: 100%; cursor: pointer; color: var(--accent) }
details[open] summary { margin-bottom: .6rem }
code { font: .9375em/1.5 ui-monospace, 'DejaVu Sans Mono', monospace }
@media (max-width: 30rem) {
  dl { grid-template-columns: 1fr; gap: 0 }
  dd { margin: 0 0 .5rem }
}
`;

export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`;

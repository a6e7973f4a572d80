/** The style of teasers. It stands in the page, so that a policy can name its hash. */
import { type Accent, ON_DARK_ACCENT, ON_LIGHT_ACCENT } from '../core/site/accent.ts';

/** @param accent - two colours as `#rrggbb`: the rest is the same on all pages */
export function teaserStyle({ light, dark }: Accent): string {
  return `
:root{color-scheme:light dark;--ink:#1c1b19;--soft:#625c53;--paper:#faf8f4;--bar:#fff;--line:#dcd7cd;--go:${light};--on:${ON_LIGHT_ACCENT}}
@media(prefers-color-scheme:dark){:root{--ink:#eceae5;--soft:#a69e92;--paper:#161513;--bar:#201e1b;--line:#37342f;--go:${dark};--on:${ON_DARK_ACCENT}}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:flex;flex-direction:column;background:var(--paper);color:var(--ink);font:1.0625rem/1.6 Georgia,"Noto Serif","Times New Roman",serif;overflow-wrap:anywhere}
header,main,aside{width:100%;max-width:40rem;margin-inline:auto;padding-inline:1.25rem}
header{padding-block:.9rem;border-bottom:1px solid var(--line);font-weight:700;font-size:1.25rem}
main{flex:1;padding-bottom:1.5rem}
.logo{display:block;max-width:min(20rem,100%);max-height:3rem}
@media(prefers-color-scheme:dark){.logo{filter:invert(.9) hue-rotate(180deg)}}
h1{font-size:clamp(1.75rem,6vw,2.5rem);line-height:1.15;margin:.9rem 0 .6rem;text-wrap:balance}
.kicker,.by,aside{font-family:system-ui,sans-serif}
.kicker{margin:1rem 0 -.6rem;color:var(--go);font-size:.8125rem;font-weight:700;letter-spacing:.06em;text-transform:uppercase}
.about{color:var(--soft);font-style:italic;font-size:1.125rem;margin:0 0 .75rem}
.by{margin:0;color:var(--soft);font-size:.875rem}
.picture{display:block;width:100%;height:auto;margin:1rem 0}
.excerpt{-webkit-mask:linear-gradient(#000 40%,#0003);mask:linear-gradient(#000 40%,#0003)}
aside{position:sticky;bottom:0;padding-block:1rem max(.75rem,env(safe-area-inset-bottom));background:var(--bar);border-radius:1rem 1rem 0 0;box-shadow:0 -.1rem 1.25rem #0003;line-height:1.4}
h2{margin:0;font:700 1.1875rem/1.3 Georgia,"Noto Serif","Times New Roman",serif}
aside p{margin:.2rem 0 0;color:var(--soft);font-size:.9375rem}
form,.go{margin-top:.75rem}
form{display:grid;gap:.6rem}
input,button,.go{display:block;width:100%;padding:.7rem 1rem;border:1px solid var(--soft);border-radius:.5rem;background:var(--bar);color:var(--ink);font:inherit;font-size:1.0625rem}
button,.go{border-color:var(--go);background:var(--go);color:var(--on);font-weight:600;text-align:center;text-decoration:none;cursor:pointer}
aside .ways{display:flex;flex-wrap:wrap;justify-content:center;gap:.25rem 1.25rem;margin-top:.5rem}
.ways a{padding:.4rem 0;color:inherit}
:focus-visible{outline:3px solid var(--go);outline-offset:3px}
@media(pointer:coarse){#reader{display:none}}
@media(max-height:30rem){aside{position:static}}
@media(min-width:40rem){aside{display:grid;grid-template-columns:1fr auto;align-items:center;gap:0 1.5rem;padding-inline:1.5rem}form,.go{margin:0;min-width:14rem}aside .ways{grid-column:1/-1;justify-content:start}}
`;
}

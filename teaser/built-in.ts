/** wispr's own template for fallback pages. What a publisher's may hold: docs/configuration.md, "Fallback pages". */
import { ON_DARK_ACCENT, ON_LIGHT_ACCENT } from '../core/site/accent.ts';

// Every value goes through the template's escaping (<%= %>) but structured data and script, which are safe as they come (<%~ %>).
export const BUILT_IN_TEMPLATE = `<!doctype html>
<html lang="<%= it.language %>"<% if (it.direction) { %> dir="<%= it.direction %>"<% } %>>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="wispr fallback page">
<title><%= it.title %></title>
<% if (it.description) { %><meta name="description" content="<%= it.description %>">
<% } %><% if (it.author) { %><meta name="author" content="<%= it.author %>">
<% } %><% if (it.published) { %><meta property="article:published_time" content="<%= it.published %>">
<% } %><% for (const [name, content] of [...it.robots, ...it.meta]) { %><meta name="<%= name %>" content="<%= content %>">
<% } %><% for (const [property, content] of it.openGraph) { %><meta property="<%= property %>" content="<%= content %>">
<% } %><% for (const { rel, href, hreflang, type } of it.links) { %><link rel="<%= rel %>"<% if (hreflang) { %> hreflang="<%= hreflang %>"<% } %><% if (type) { %> type="<%= type %>"<% } %> href="<%= href %>">
<% } %><link rel="canonical" href="<%= it.canonical %>">
<link rel="icon" href="data:,">
<script type="application/ld+json"><%~ it.jsonLd %></script>
<style>
:root{color-scheme:light dark;--ink:#1c1b19;--soft:#625c53;--paper:#faf8f4;--line:#dcd7cd;--go:<%= it.accent.light %>;--on:${ON_LIGHT_ACCENT}}
@media(prefers-color-scheme:dark){:root{--ink:#eceae5;--soft:#a69e92;--paper:#161513;--line:#37342f;--go:<%= it.accent.dark %>;--on:${ON_DARK_ACCENT}}}
body{margin:0;background:var(--paper);color:var(--ink);font:1.0625rem/1.6 Georgia,"Noto Serif","Times New Roman",serif;overflow-wrap:anywhere}
header,main{box-sizing:border-box;width:min(40rem,100%);margin:0 auto;padding:0 1.25rem}
header{padding-top:1rem;padding-bottom:1rem;border-bottom:1px solid var(--line);font-weight:700;font-size:1.25rem}
.logo{display:block;width:min(20rem,100%);max-height:3rem;object-fit:contain;object-position:left}
@media(prefers-color-scheme:dark){.logo{box-sizing:border-box;padding:.35rem .5rem;background:#faf8f4}}
h1{font-size:clamp(1.75rem,6vw,2.5rem);line-height:1.15;margin:1.75rem 0 .6rem;text-wrap:balance}
.about{color:var(--soft);font-style:italic;font-size:1.125rem;margin:0 0 1rem}
.by,footer{font-family:system-ui,sans-serif}
.by,small{color:var(--soft);font-size:.875rem}
.picture{display:block;width:100%;height:auto;margin:1.25rem 0}
.excerpt{-webkit-mask:linear-gradient(#000 55%,#0005);mask:linear-gradient(#000 55%,#0005)}
footer{margin:1rem 0 2.5rem;padding-top:1.25rem;border-top:3px solid var(--go)}
.ways{display:flex;flex-wrap:wrap;gap:.75rem;margin:0 0 .75rem}
.ways a{padding:.7rem 1.6rem;border:1px solid var(--go);border-radius:.4rem;color:var(--go);font-weight:600;text-decoration:none}
.ways .go{background:var(--go);color:var(--on)}
footer p{margin:.25rem 0}
small a{color:inherit}
a:focus-visible{outline:3px solid var(--go);outline-offset:3px}
</style>
</head>
<body>
<header><% if (it.logo) { %><img class="logo" src="<%= it.logo %>" alt="<%= it.publisher %>"><% } else { %><span class="from"><%= it.publisher %></span><% } %></header>
<main>
<h1><%= it.headline %></h1>
<% if (it.description) { %><p class="about"><%= it.description %></p>
<% } %><% if (it.author) { %><p class="by"><%= it.author %></p>
<% } %><% if (it.picture) { %><img class="picture" src="<%= it.picture %>" alt="">
<% } %><% if (it.excerpt.length > 0) { %><div class="excerpt">
<% for (const paragraph of it.excerpt) { %><p><%= paragraph %></p>
<% } %></div>
<% } %><footer class="wispr-paid"<% if (it.words.language) { %> lang="<%= it.words.language %>" dir="ltr"<% } %>>
<p class="ways"><a class="go" id="read" href="<%= it.reading %>"><%= it.words.read %></a><% if (it.subscribe) { %><a id="subscribe" href="<%= it.subscribe %>"><%= it.words.subscribe %></a><% } %></p>
<% if (it.reader) { %><p><small><%= it.words.note %></small></p>
<p><small><a id="reader" href="<%= it.reader %>" rel="nofollow noreferrer"><%= it.words.open %></a><%= it.words.ifThere %></small></p>
<% } %></footer>
</main>
<script><%~ it.script %></script>
</body>
</html>
`;

/** wispr's own template for fallback pages. What a publisher's may hold: docs/configuration.md, "Fallback pages". */

// Every value goes through the template's escaping (<%= %>) but structured data and script, which are safe as they come (<%~ %>).
export const BUILT_IN_TEMPLATE = `<!doctype html>
<html lang="<%= it.language %>"<% if (it.direction) { %> dir="<%= it.direction %>"<% } %>>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="wispr fallback page">
<title><%= it.title %></title>
<% if (it.description) { %><meta name="description" content="<%= it.description %>">
<% } %><% for (const [property, content] of it.openGraph) { %><meta property="<%= property %>" content="<%= content %>">
<% } %><link rel="canonical" href="<%= it.canonical %>">
<link rel="icon" href="data:,">
<script type="application/ld+json"><%~ it.jsonLd %></script>
<% if (it.redirectAfter !== 'never') { %><noscript><meta http-equiv="refresh" content="<%= it.redirectAfter %>;url=<%= it.reading %>"></noscript>
<% } %><style>
:root{color-scheme:light dark;--ink:#1c1b19;--soft:#6a665f;--paper:#faf8f4;--line:#dcd7cd;--go:#0b5a4a;--on:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#eceae5;--soft:#a09b92;--paper:#171614;--line:#37342f;--go:#7fd4bf;--on:#10201c}}
body{margin:0;min-height:100vh;display:grid;place-items:center;background:var(--paper);color:var(--ink);font:1.0625rem/1.6 Georgia,"Times New Roman",serif}
main{box-sizing:border-box;width:min(38rem,100%);padding:3rem 1.5rem}
small,.go{font-family:system-ui,sans-serif}
small{color:var(--soft);font-size:.875rem}
small a{color:inherit}
h1{font-size:clamp(1.6rem,5vw,2.3rem);line-height:1.2;margin:.4rem 0 1rem;overflow-wrap:anywhere}
.about{color:var(--soft);font-style:italic}
.excerpt{border-top:1px solid var(--line);padding-top:.4rem;-webkit-mask:linear-gradient(#000 60%,#0006);mask:linear-gradient(#000 60%,#0006)}
.go{display:inline-block;margin:1.2rem 0 .8rem;padding:.7rem 1.8rem;border-radius:.4rem;background:var(--go);color:var(--on);font-weight:600;text-decoration:none}
.go:focus-visible,small a:focus-visible{outline:3px solid var(--ink);outline-offset:3px}
</style>
</head>
<body>
<main>
<small class="from"><%= it.publisher %></small>
<h1><%= it.openGraph.get('og:title') || it.title %></h1>
<% if (it.description) { %><p class="about"><%= it.description %></p>
<% } %><% if (it.excerpt.length > 0) { %><div class="excerpt">
<% for (const paragraph of it.excerpt) { %><p><%= paragraph %></p>
<% } %></div>
<% } %><footer<% if (it.words.language) { %> lang="<%= it.words.language %>" dir="ltr"<% } %>>
<a class="go" id="read" href="<%= it.reading %>"><%= it.words.read %></a>
<p><small><%= it.words.note %></small></p>
<p><small><a id="reader" href="<%= it.reader %>" rel="nofollow noreferrer"><%= it.words.open %></a><%= it.words.ifThere %></small></p>
</footer>
</main>
<script><%~ it.script %></script>
</body>
</html>
`;

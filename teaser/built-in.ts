/** wispr's own template for teasers. What a publisher's may hold: docs/configuration.md, "Fallback pages". */

// Values go through the template's escaping (<%= %>) but structured data, style and script, which are safe as they come (<%~ %>).
export const BUILT_IN_TEMPLATE = `<!doctype html>
<html lang="<%= it.language %>"<% if (it.direction) { %> dir="<%= it.direction %>"<% } %>>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="wispr fallback page">
<title><%= it.title %></title>
<% if (it.refresh) { %><meta http-equiv="refresh" content="<%= it.refresh %>">
<% } %><% if (it.description) { %><meta name="description" content="<%= it.description %>">
<% } %><% if (it.author) { %><meta name="author" content="<%= it.author %>">
<% } %><% if (it.published) { %><meta property="article:published_time" content="<%= it.published %>">
<% } %><% for (const [name, content] of [...it.robots, ...it.meta]) { %><meta name="<%= name %>" content="<%= content %>">
<% } %><% for (const [property, content] of it.openGraph) { %><meta property="<%= property %>" content="<%= content %>">
<% } %><% for (const { rel, href, hreflang, type } of it.links) { %><link rel="<%= rel %>"<% if (hreflang) { %> hreflang="<%= hreflang %>"<% } %><% if (type) { %> type="<%= type %>"<% } %> href="<%= href %>">
<% } %><link rel="canonical" href="<%= it.canonical %>">
<link rel="icon" href="data:,">
<script type="application/ld+json"><%~ it.jsonLd %></script>
<style><%~ it.style %></style>
</head>
<body>
<header><% if (it.logo) { %><img class="logo" src="<%= it.logo %>" alt="<%= it.publisher %>"><% } else { %><span class="from"><%= it.publisher %></span><% } %></header>
<main>
<% if (it.section) { %><p class="kicker"><%= it.section %></p>
<% } %><h1><%= it.headline %></h1>
<% if (it.description) { %><p class="about"><%= it.description %></p>
<% } %><% if (it.author || it.date) { %><p class="by"><%= it.author && it.words.by(it.author) %><% if (it.author && it.date) { %> · <% } %><% if (it.date) { %><time datetime="<%= it.published %>"><%= it.date %></time><% } %></p>
<% } %><% if (it.picture) { %><img class="picture" src="<%= it.picture %>" alt="">
<% } %><% if (it.excerpt.length > 0) { %><div class="excerpt">
<% for (const paragraph of it.excerpt) { %><p><%= paragraph %></p>
<% } %></div>
<% } %></main>
<aside class="wispr-paid" id="read" data-to="<%= it.reading %>" aria-labelledby="offer"<% if (it.bar.language) { %> lang="<%= it.bar.language %>" dir="ltr"<% } %>>
<div><h2 id="offer"><%= it.bar.title %></h2>
<% if (it.bar.lead) { %><p><%= it.bar.lead %></p>
<% } %></div>
<% if (it.bar.field) { %><form method="post" action="<%= it.bar.field.action %>"><input type="hidden" name="to" value="<%= it.bar.field.to %>"><input type="email" name="name" maxlength="254" required autocomplete="email" aria-label="<%= it.bar.field.label %>" placeholder="<%= it.bar.field.label %>"><button><%= it.bar.field.button %></button></form>
<% } %><% if (it.bar.button) { %><a class="go" href="<%= it.bar.button.url %>"><%= it.bar.button.text %></a>
<% } %><p class="ways"><% for (const { text, url } of it.bar.links) { %><a href="<%= url %>"><%= text %></a><% } %><% if (it.reader) { %><a id="reader" href="<%= it.reader %>" rel="nofollow noreferrer"><%= it.words.open %></a><% } %></p>
</aside>
<% if (it.script) { %><script><%~ it.script %></script>
<% } %></body>
</html>
`;

/** The `wispr.json` that `wispr init` writes: every setting there is, with what it means. */
import { type ConfigurationInput, DEFAULT_SET } from './schema.ts';

/**
 * The text of a commented configuration.
 *
 * @param schema - where the JSON Schema lies, as an editor finds it from the file
 */
export function configurationTemplate(settings: ConfigurationInput, schema: string): string {
  const value = (member: keyof ConfigurationInput, otherwise?: unknown) =>
    JSON.stringify(settings[member] ?? otherwise, null, 2).replaceAll('\n', '\n  ');
  const optional = (member: keyof ConfigurationInput, example: object | string) =>
    settings[member] === undefined ? `// "${member}": ${JSON.stringify(example)},` : `"${member}": ${value(member)},`;
  return `// How "wispr protect" and "wispr publish" treat this site. Comments are allowed in this file.
// What is secret lies in publisher.keys beside it, encrypted under your passphrase: keep that file offline, and a copy of it.
{
  "$schema": ${JSON.stringify(schema)},

  // The host name that readers type, and what you call yourself.
  "site": ${value('site')},
  "name": ${value('name', settings.site)},

  // The directory with your site, and the one that "wispr protect" writes: put that one on your web host, whole.
  "source": ${value('source')},
  "out": ${value('out')},

  // Where readers fetch the protected site: your web host, or a cache in front of it. http is enough, every byte is signed.
  // Several, up to eight, where there are mirrors: ["http://news.example", "http://mirror.example"]. The first is asked first.
  "content": ${value('content')},
${settings.keyServer === undefined ? WITHOUT_KEY_SERVER : withKeyServer(value, optional)}

  // Public documents: signed, not encrypted. Patterns such as "index.html", "front/**", "*.css".
  // robots.txt, favicon.ico, .well-known and the like are public always.
  "public": ${value('public', [])},

  // Which documents belong to which set. A set is what one audience may read, and has one key. The first rule that fits wins:
  //   { "name": "day-{yyyy}-{mm}-{dd}", "path": "{yyyy}/{mm}/{dd}/**" }
  // A page can also say it itself: <meta name="wispr-set" content="…"> in its head; "public" makes it public.
  "sets": ${value('sets', [])},
  // The set of all other documents.
  "defaultSet": ${value('defaultSet', DEFAULT_SET)},

${settings.keyServer === undefined ? '' : plansOf(value)}  // Parts of the site with signing keys of their own, for editors who publish apart: { "name": "sports", "paths": ["sports/**"] }
  // The first that fits a path signs for it (docs/keys.md says how keys are given to others).
  "sections": ${value('sections', [])},

  // Not published at all; and the hidden files that are, which are left out otherwise.
  "ignore": ${value('ignore', [])},
  "include": ${value('include', [])},
  // Stored as they are, so that programs can ask for parts of them: "data/*.csv". Films, pictures, archives are anyway.
  "uncompressed": ${value('uncompressed', [])},

  // Percent of the documents that may go at once without a question or --allow-removal: a build may have broken.
  "removalPercent": ${value('removalPercent', 10)},

  // "beside": a page's protected object lies beside its fallback page. "html": inside it, for hosts with one file per URL.
  "carrier": ${value('carrier', 'beside')},

  // Fallback pages (teasers), for browsers without a Reader. "template": a file of your own to make them from
  // (docs/configuration.md says what it may hold); "language": that of pages that name none.
  "fallback": ${value('fallback', {})},

  // Your colour, your logo (a public picture of the site), and where people subscribe: on teasers, at the sign-in, on refusals.
  ${optional('accent', '#a3301d')}
  ${optional('logo', 'logo.svg')}
  ${optional('subscribe', `https://${settings.site}/subscribe`)}
  // Whether the in-browser reader puts a small button onto your pages: who signed them, sharing, keeping for reading offline.
  "sheet": ${value('sheet', true)},
  // What readers see in place of the names of sets: { "set": "day-{yyyy}-{mm}-{dd}", "title": "Issue of {dd}/{mm}/{yyyy}" }
  "titles": ${value('titles', [])},
  // "public": the pictures that pages name by og:image are public, so that shared links have a picture. "none": they have none.
  "previews": ${value('previews', 'public')},

  // Response headers, signed with each document; of several rules the last that fits wins, for each header by itself:
  //   { "path": "**/*.html", "set": { "Content-Security-Policy": "default-src 'self'", "Cache-Control": "max-age=600" } }
  "headers": ${value('headers', [])},

  // From addresses that have no document any more: { "from": "/old.html", "to": "/new.html", "status": 301 }
  "redirects": ${value('redirects', [])},
  // Whether /about stands for /about.html.
  "cleanUrls": ${value('cleanUrls', false)},
  // The page that is shown where there is none. If this is left out, 404.html, where the site has it. It has to be public.
  ${optional('notFound', '404.html')}

  // For how many hours a publication counts as fresh after ${settings.keyServer === undefined ? '"wispr publish"' : 'your key server'} has confirmed it, and for how many days after that
  // readers still see it, with a word about when it was last confirmed. "keptAfterGrace": whether they may read on after that what they
  // have kept, behind one click that names the date.
  "freshness": ${value('freshness', { hours: 48, graceDays: 14, keptAfterGrace: false })},

  // "padme" hides the exact lengths of documents, for at most 12 % more bytes.
  "padding": ${value('padding', 'none')},

${settings.keyServer === undefined ? placesAlone(optional) : placesWithToken(optional)}${settings.keyServer === undefined ? '' : forKeyServer(value)}
}
`;
}

type Value = (member: keyof ConfigurationInput, otherwise?: unknown) => string;
type Optional = (member: keyof ConfigurationInput, example: object | string) => string;

const WITHOUT_KEY_SERVER = `  // There is no key server ("keyServer", "reading"): people read in their browsers, where the first of "content" is, by the links of
  // "wispr invite". That host serves the program that they read with, and is trusted for that: docs/serverless.md.`;

function withKeyServer(value: Value, optional: Optional): string {
  return `  // Where your key server runs ("wispr keyserver").
  "keyServer": ${value('keyServer')},
  // Its endpoint for HTTPCrypt, if it has one, as it says when it starts: for readers in networks that block HTTPS.
  ${optional('httpcrypt', { key: '…', url: 'http://keys.news.example/a/' })}
  // Where people without a Reader are led, to sign in and read. It must be another host than the site.
  "reading": ${value('reading')},`;
}

function plansOf(value: Value): string {
  return `  // Plans whose readers ask the key server once a period, and not for each new set. Sets and time zone as at the key server:
  //   { "name": "daily", "sets": ["day-*"], "period": "month", "zone": "Europe/Berlin" }
  "plans": ${value('plans', [])},

`;
}

function placesWithToken(optional: Optional): string {
  return `  // Where "wispr publish" puts the site, a directory or s3://BUCKET/PREFIX; and the file with your key server's publishing token.
  ${optional('publish', 's3://news-example')}
  ${optional('keyServerTokenFile', 'keyserver.token')}
`;
}

function placesAlone(optional: Optional): string {
  return `  // Where "wispr publish" puts the site: a directory or s3://BUCKET/PREFIX. Left out: "out" itself is what you serve or copy.
  ${optional('publish', '/srv/news')}`;
}

function forKeyServer(value: Value): string {
  return `
  // Your key server's public key: it prints where it lies when it starts for the first time. Put a copy here.
  "recipient": ${value('recipient', 'keyserver.pub')},

  // Who confirms every hour that what readers see is current: "keyserver", which is given the timestamp key for it, or
  // "publisher": you run "wispr timestamp" by cron.
  "timestampBy": ${value('timestampBy', 'keyserver')}`;
}

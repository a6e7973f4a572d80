/** Catalogue of what `wispr check` can find: how each kind is called, and what to do. */

/** Names of a kind of finding. */
interface Kind {
  readonly one: string;
  readonly many: string;
  /** Advice: what to do. */
  readonly advice?: string;
}

/** Kinds that break something for readers, the worst first. */
export const BREAKS = {
  refused: {
    one: 'thing that "wispr protect" would refuse',
    many: 'things that "wispr protect" would refuse',
  },
  copy: {
    one: 'file with the text of encrypted pages, which people can read who may not read these pages',
    many: 'files with the text of encrypted pages, which people can read who may not read these pages',
    advice:
      'name each under "sets" with the set of its pages, take it out of "public", or have your site generator leave the text out; feeds are public: switch them off, or name them under "ignore"',
  },
  'own-host': {
    one: "address with the site's own host in it, which leads out of the reading site",
    many: "addresses with the site's own host in them, which lead out of the reading site",
    advice: 'leave the host out, /a.html or ../a.html; most site generators have a setting for it',
  },
  missing: {
    one: 'address that is linked and has no document',
    many: 'addresses that are linked and have no document',
    advice: 'correct the links, put the files there, or add "redirects"',
  },
  'address-refused': {
    one: 'address that is linked and that no document can have',
    many: 'addresses that are linked and that no document can have',
    advice:
      'correct the links: such addresses have two slashes in a row, or encoded what others take for a slash or a dot',
  },
  form: {
    one: 'form that is sent to the site, where nothing answers',
    many: 'forms that are sent to the site, where nothing answers',
    advice: 'send them to another host, or leave them out',
  },
  'frame-sandboxed': {
    one: 'frame with "sandbox" and without "allow-same-origin", which the in-browser reader cannot fill',
    many: 'frames with "sandbox" and without "allow-same-origin", which the in-browser reader cannot fill',
    advice: 'add "allow-same-origin", or leave "sandbox" out',
  },
  'service-worker-first': {
    one: 'public script with a service worker: at a site without a key server, a visitor’s browser runs it in place of the reader',
    many: 'public scripts with service workers: at a site without a key server, a visitor’s browser runs them in place of the reader',
    advice: 'take the registration out, or do not name these scripts under "public"',
  },
  'redirect-missing': {
    one: 'redirect to a missing document',
    many: 'redirects to missing documents',
    advice: 'correct "to" of these redirects',
  },
} as const satisfies Record<string, Kind>;

/** What is worth knowing. */
const NOTES = {
  'copy-shared': {
    one: 'file with a passage that three or more encrypted pages share, and that people can read who may not read these pages',
    many: 'files with a passage that three or more encrypted pages share, and that people can read who may not read these pages',
    advice: 'nothing to do for a note about an author, or the like',
  },
  'public-loads-protected': {
    one: 'encrypted file that public pages load: without it they look broken to visitors who are not signed in',
    many: 'encrypted files that public pages load: without them they look broken to visitors who are not signed in',
    advice: 'name each of these files under "public", not their folder: others there may hold texts of pages',
  },
  'mixed-content': {
    one: 'file that pages load over http: from another host; on the reading site, browsers refuse it, or ask for it over https:',
    many: 'files that pages load over http: from other hosts; on the reading site, browsers refuse them, or ask for them over https:',
    advice: 'write https:, or put them on the site',
  },
  'preview-picture': {
    one: 'picture for previews that no preview can show',
    many: 'pictures for previews that no preview can show',
    advice: 'put them there if they are missing, and name them under "public"',
  },
  'accent-pale': {
    one: 'colour that is too pale to be read on white: pages have wispr’s own in its place',
    many: 'colours that are too pale to be read on white: pages have wispr’s own in their place',
    advice: 'choose a darker "accent"',
  },
  noindex: {
    one: 'document marked noindex: search engines leave it out, and its teaser',
    many: 'documents marked noindex: search engines leave them out, and their teasers',
  },
  'own-host-data': {
    one: "data file or script with the site's own host in it: links that scripts make of it lead out of the reading site",
    many: "data files and scripts with the site's own host in them: links that scripts make of them lead out of the reading site",
  },
  'service-worker': {
    one: 'script with a service worker, which Readers refuse',
    many: 'scripts with service workers, which Readers refuse',
    advice: 'nothing to do if the site works without',
  },
  'request-synchronous': {
    one: 'script with synchronous requests, which the in-browser reader refuses outside of workers',
    many: 'scripts with synchronous requests, which the in-browser reader refuses outside of workers',
    advice: 'use fetch',
  },
  'frame-filled': {
    one: 'script that writes pages itself, into frames or windows: in the in-browser reader they load no files of the site',
    many: 'scripts that write pages themselves, into frames or windows: in the in-browser reader they load no files of the site',
    advice: 'use "srcdoc", or a page of the site',
  },
  'form-elsewhere': {
    one: 'other host that forms send data to',
    many: 'other hosts that forms send data to',
  },
  'redirect-unused': {
    one: 'redirect without effect, because a document has its address',
    many: 'redirects without effect, because documents have their addresses',
  },
  'name-case': {
    one: 'name that differs from another in case or accents only: some hosts keep one of the two',
    many: 'names that differ from others in case or accents only: some hosts keep one of each two',
  },
  'name-odd': {
    one: 'name that some hosts change or misread',
    many: 'names that some hosts change or misread',
  },
  hidden: {
    one: 'name of hidden files or folders, which are left out',
    many: 'names of hidden files or folders, which are left out',
    advice: 'name those that the site needs under "include"',
  },
  'gzip-public': {
    one: 'public file in gzip, which browsers show only where the web host says that it is',
    many: 'public files in gzip, which browsers show only where the web host says that they are',
    advice: 'unpack them, to .svg, or do not name them under "public"',
  },
  charset: {
    one: 'page that is not in UTF-8 and does not name its encoding: browsers guess',
    many: 'pages that are not in UTF-8 and do not name their encoding: browsers guess',
    advice: 'save them as UTF-8',
  },
  empty: { one: 'empty page', many: 'empty pages' },
  large: {
    one: 'file over 20 MiB, which some caches and CDNs refuse unless large files are switched on',
    many: 'files over 20 MiB, which some caches and CDNs refuse unless large files are switched on',
  },
  partly: {
    one: 'file over 8 MiB, of which only the beginning was checked',
    many: 'files over 8 MiB, of which only the beginning was checked',
  },
  'set-lone': {
    one: 'set with a single document, and nearly the name of another',
    many: 'sets with a single document, and nearly the name of another',
  },
  'set-default': {
    one: 'document in the default set, because no rule names it',
    many: 'documents in the default set, because no rule names them',
  },
  'pattern-unused': {
    one: 'pattern in wispr.json that matches no document',
    many: 'patterns in wispr.json that match no document',
  },
} as const satisfies Record<string, Kind>;

export type CheckKind = keyof typeof BREAKS | keyof typeof NOTES;

export const KINDS: Readonly<Record<CheckKind, Kind>> = { ...BREAKS, ...NOTES };

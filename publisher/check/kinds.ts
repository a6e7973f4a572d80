/** Catalogue of what `wispr check` can find: how each kind is called, and what to do. */

interface Kind {
  /** Its name: `{file|files}` has the word for one finding, and that for several. */
  readonly text: string;
  readonly advice?: string;
}

/** Kinds that break something for readers, the worst first. */
export const BREAKS = {
  refused: { text: '{thing|things} that "wispr protect" would refuse' },
  copy: {
    text: '{file|files} with the text of encrypted pages, which people can read who may not read these pages',
    advice:
      'name each under "sets" with the set of its pages, take it out of "public", or have your site generator leave the text out; feeds are public: switch them off, or name them under "ignore"',
  },
  'own-host': {
    text: "{address|addresses} with the site's own host in {it|them}, which {leads|lead} out of the reading site",
    advice: 'leave the host out, /a.html or ../a.html; most site generators have a setting for it',
  },
  missing: {
    text: '{address|addresses} that {is|are} linked and {has|have} no document',
    advice: 'correct the links, put the files there, or add "redirects"',
  },
  'address-refused': {
    text: '{address|addresses} that {is|are} linked and that no document can have',
    advice:
      'correct the links: such addresses have two slashes in a row, or encoded what others take for a slash or a dot',
  },
  form: {
    text: '{form|forms} that {is|are} sent to the site, where nothing answers',
    advice: 'send them to another host, or leave them out',
  },
  'frame-sandboxed': {
    text: '{frame|frames} with "sandbox" and without "allow-same-origin", which the in-browser reader cannot fill',
    advice: 'add "allow-same-origin", or leave "sandbox" out',
  },
  'service-worker-first': {
    text: 'public {script with a service worker|scripts with service workers}: at a site without a key server, a visitor’s browser runs {it|them} in place of the reader',
    advice: 'take the registration out, or do not name these scripts under "public"',
  },
  'redirect-missing': {
    text: '{redirect to a missing document|redirects to missing documents}',
    advice: 'correct "to" of these redirects',
  },
} as const satisfies Record<string, Kind>;

const NOTES = {
  'copy-shared': {
    text: '{file|files} with a passage that three or more encrypted pages share, and that people can read who may not read these pages',
    advice: 'nothing to do for a note about an author, or the like',
  },
  'public-loads-protected': {
    text: 'encrypted {file|files} that public pages load: without {it|them} they look broken to visitors who are not signed in',
    advice: 'name each of these files under "public", not their folder: others there may hold texts of pages',
  },
  'mixed-content': {
    text: '{file|files} that pages load over http: from {another host|other hosts}; on the reading site, browsers refuse {it|them}, or ask for {it|them} over https:',
    advice: 'write https:, or put them on the site',
  },
  'preview-picture': {
    text: '{picture|pictures} for previews that no preview can show',
    advice: 'put them there if they are missing, and name them under "public"',
  },
  'accent-pale': {
    text: '{colour|colours} that {is|are} too pale to be read on white: pages have wispr’s own in {its|their} place',
    advice: 'choose a darker "accent"',
  },
  noindex: {
    text: '{document|documents} marked noindex: search engines leave {it|them} out, and {its teaser|their teasers}',
  },
  'own-host-data': {
    text: "data {file or script|files and scripts} with the site's own host in {it|them}: links that scripts make of {it|them} lead out of the reading site",
  },
  'service-worker': {
    text: '{script with a service worker|scripts with service workers}, which Readers refuse',
    advice: 'nothing to do if the site works without',
  },
  'request-synchronous': {
    text: '{script|scripts} with synchronous requests, which the in-browser reader refuses outside of workers',
    advice: 'use fetch',
  },
  'frame-filled': {
    text: '{script|scripts} that {writes|write} pages {itself|themselves}, into frames or windows: in the in-browser reader they load no files of the site',
    advice: 'use "srcdoc", or a page of the site',
  },
  'form-elsewhere': { text: 'other {host|hosts} that forms send data to' },
  'redirect-unused': {
    text: '{redirect|redirects} without effect, because {a document has its address|documents have their addresses}',
  },
  'name-case': {
    text: '{name|names} that {differs|differ} from {another|others} in case or accents only: some hosts keep one of {the|each} two',
  },
  'name-odd': { text: '{name|names} that some hosts change or misread' },
  hidden: {
    text: '{name|names} of hidden files or folders, which are left out',
    advice: 'name those that the site needs under "include"',
  },
  'gzip-public': {
    text: 'public {file|files} in gzip, which browsers show only where the web host says that {it is|they are}',
    advice: 'unpack them, to .svg, or do not name them under "public"',
  },
  charset: {
    text: '{page|pages} that {is|are} not in UTF-8 and {does|do} not name {its|their} encoding: browsers guess',
    advice: 'save them as UTF-8',
  },
  empty: { text: 'empty {page|pages}' },
  large: { text: '{file|files} over 20 MiB, which some caches and CDNs refuse unless large files are switched on' },
  partly: { text: '{file|files} over 8 MiB, of which only the beginning was checked' },
  'set-lone': { text: '{set|sets} with a single document, and nearly the name of another' },
  'set-default': { text: '{document|documents} in the default set, because no rule names {it|them}' },
  'pattern-unused': { text: '{pattern|patterns} in wispr.json that {matches|match} no document' },
} as const satisfies Record<string, Kind>;

export type CheckKind = keyof typeof BREAKS | keyof typeof NOTES;

export const KINDS: Readonly<Record<CheckKind, Kind>> = { ...BREAKS, ...NOTES };

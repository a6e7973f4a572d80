/** The form of `wispr.json`. The JSON Schema for editors, `publisher/wispr.schema.json`, is made from this; a test holds both together. */
import { z } from 'zod';
import { isHttpcryptEndpoint } from '../../../core/httpcrypt/endpoint.ts';
import { isServerless } from '../../../core/keys/descriptor.ts';
import { isSectionName } from '../../../core/publication/sections.ts';
import { PLACEHOLDERS, placeholdersIn } from '../../../core/publication/set-titles.ts';
import { isLoopback, isOrigin, isSite } from '../../../core/site/site.ts';
import { destinationOf, freshness, headers, notFound, pattern, redirects, refuseTwins } from './content-schema.ts';
import { accent, logo, previews, sheet, subscribe, titles } from './look-schema.ts';
import {
  isSectionPath,
  isSetName,
  SECTION_LIMITS,
  SECTION_NAME_FORM,
  SECTION_PATH_FORM,
  SET_NAME_FORM,
} from './names.ts';
import { gifts, plans } from './plan-schema.ts';

const secureOrigin = (example: string) =>
  z
    .string()
    .refine((value) => isOrigin(value, { allowLoopback: true }), {
      error: `must be an https origin without a path, such as ${example} (http only on loopback)`,
    })
    .meta({ format: 'uri', title: 'origin' });

const contentOrigin = z
  .string()
  .refine((value) => isOrigin(value, { allowHttp: true }), {
    error: 'must be an http or https origin without a path, such as http://news.example',
  })
  .meta({ format: 'uri', title: 'origin' });

const setRule = z
  .strictObject({
    name: z.string().meta({ description: 'The set; {yyyy}, {mm} and {dd} are filled in from the path.' }),
    path: pattern.meta({ description: 'Which paths; {yyyy}, {mm} and {dd} stand for a year, a month and a day.' }),
    rekeyDays: z.int().min(1).max(3650).optional().meta({
      description: 'Days after which the set gets a new key by itself, and its documents are encrypted again.',
    }),
    rekeyOnRevoke: z.boolean().optional().meta({
      description:
        'Whether the set gets a new key, as by `rekeyDays`, at the next `wispr publish` after somebody has lost access.',
    }),
  })
  .superRefine(({ name, path }, context) => {
    const known = placeholdersIn(path);
    const unknown = placeholdersIn(name).filter((placeholder) => !known.includes(placeholder));
    if (unknown.length > 0) {
      context.addIssue({
        code: 'custom',
        path: ['name'],
        message: `has {${unknown[0]}}, which its path does not have`,
      });
    } else if (/[{}]/.test(fillForCheck(name))) {
      const message = `may have no other braces than ${PLACEHOLDERS.map((placeholder) => `{${placeholder}}`).join(', ')}`;
      context.addIssue({ code: 'custom', path: ['name'], message });
    } else if (!isSetName(fillForCheck(name))) {
      context.addIssue({ code: 'custom', path: ['name'], message: SET_NAME_FORM });
    }
  });

const section = z.strictObject({
  name: z
    .string()
    .refine(isSectionName, { error: SECTION_NAME_FORM })
    .meta({ description: 'The section, as commands and signed metadata call it.' }),
  paths: z
    .array(z.string().refine(isSectionPath, { error: SECTION_PATH_FORM }))
    .min(1)
    .max(SECTION_LIMITS.paths)
    .meta({ description: 'Which documents, such as "sports/**".' }),
});

const sections = z
  .array(section)
  .max(SECTION_LIMITS.sections)
  .default([])
  .superRefine(refuseTwins('name', ({ name }) => name, 'is the name of an earlier section already'))
  .meta({
    description:
      'Parts of the site with signing keys of their own; where a path fits several, the first of them signs for it.',
  });

/** The document set of every document that nothing else decides about. */
const DEFAULT_SET = 'subscribers';

export const configurationSchema = z
  .strictObject({
    $schema: z.string().optional().meta({ description: 'Where editors find the description of this file.' }),
    site: z
      .string()
      .refine(isSite, { error: 'must be a host name in lower case, without port and path, such as news.example' })
      .meta({ description: 'The host name that readers type.' }),
    name: z
      .string()
      .trim()
      .min(1)
      .max(100)
      .optional()
      .meta({ description: 'What you call yourself; the site if left out.' }),
    source: z.string().min(1).meta({ description: 'The directory with your site, relative to this file.' }),
    out: z
      .string()
      .min(1)
      .meta({ description: 'The directory that the protected site is written to, relative to this file.' }),
    content: z
      .union([contentOrigin, z.array(contentOrigin).min(1).max(8)], {
        error: 'must be one or up to eight http or https origins without a path, such as http://news.example',
      })
      .meta({ description: 'Where readers fetch the protected site: the origin of your web host, or of several.' }),
    keyServer: secureOrigin('https://keys.news.example').optional().meta({
      description:
        'Where your key server runs. Left out, together with `reading`: there is none, docs/serverless.md. Named without `reading`: it keeps the publication fresh, and has no keys.',
    }),
    httpcrypt: z
      .strictObject({ key: z.string(), url: z.string() })
      .refine(isHttpcryptEndpoint, {
        error: 'must be what the key server says of its HTTPCrypt endpoint when it starts',
      })
      .optional()
      .meta({
        description: 'Its endpoint for HTTPCrypt, if it has one: `{ "key", "url" }`, as it says when it starts.',
      }),
    reading: secureOrigin('https://read.news.example').optional().meta({
      description: 'The reading site, where people without a Reader are led. Another host than the site.',
    }),
    public: z.array(pattern).default([]).meta({ description: 'Public documents: signed, not encrypted.' }),
    sets: z
      .array(setRule)
      .default([])
      .meta({ description: 'Which documents belong to which set; the first rule that fits wins.' }),
    defaultSet: z
      .string()
      .refine(isSetName, { error: SET_NAME_FORM })
      .default(DEFAULT_SET)
      .meta({ description: 'The set of all other documents.' }),
    plans,
    gifts,
    sections,
    ignore: z.array(pattern).default([]).meta({ description: 'Files of the source that are not published at all.' }),
    include: z.array(pattern).default([]).meta({
      description:
        'Hidden files, and folders with all that is in them, that are published: `**/.zarray`, `.data/**`. `.git`, `.env`, `.DS_Store` and the like never are.',
    }),
    uncompressed: z.array(pattern).default([]).meta({
      description:
        'Encrypted documents that are stored as they are, so that programs can ask for parts of them: `data/*.csv`. Films, sound, pictures, models, archives and databases are anyway.',
    }),
    carrier: z.enum(['beside', 'html']).default('beside').meta({
      description: '"html" puts the protected object of a page into the page itself, for hosts with one file per URL.',
    }),
    fallback: z
      .strictObject({
        language: z
          .string()
          .regex(/^[A-Za-z0-9-]{1,35}$/, { error: 'must be a language as in HTML, such as "de"' })
          .optional()
          .meta({ description: 'The language of pages whose `<html lang>` names none; English if left out.' }),
        redirect: z.enum(['readers', 'always', 'never']).default('readers').meta({
          description:
            'Whom a teaser leads on to the reading site at once: "readers", in whose browser it has led there before; everybody; or nobody.',
        }),
        template: z.string().min(1).optional().meta({
          description:
            'A file with an eta template for fallback pages, relative to this file; wispr has one of its own.',
        }),
      })
      .prefault({})
      .meta({ description: 'Pages that visitors without access see, also called teasers.' }),
    accent,
    logo,
    subscribe,
    sheet,
    titles,
    previews,
    headers,
    redirects,
    cleanUrls: z.boolean().default(false).meta({ description: 'Whether /about stands for /about.html.' }),
    notFound,
    freshness,
    padding: z.enum(['none', 'padme']).default('none').meta({
      description: '"padme" hides the exact lengths of documents, for at most 12 % more bytes.',
    }),
    publish: z
      .union([z.string().min(1), z.array(z.string().min(1)).min(1).max(16)], {
        error: 'must be a target, or a list of targets',
      })
      .optional()
      .meta({
        description:
          'Where `wispr publish` puts the site: a directory, relative to this file, or s3://BUCKET/PREFIX; or a list of these.',
      }),
    keyServerTokenFile: z.string().min(1).optional().meta({
      description: 'The file with the publishing token of your key server, relative to this file.',
    }),
    removalPercent: z.number().min(0).max(100).default(10).meta({
      description:
        'Percent of the documents that may go without a question or `--allow-removal`; nine always may. New documents make up for files that go, but not for pages.',
    }),
    recipient: z
      .string()
      .min(1)
      .default('keyserver.pub')
      .meta({ description: "The file with your key server's public key, relative to this file." }),
    timestampBy: z.enum(['keyserver', 'publisher']).optional().meta({
      description:
        'Names the party that says which publication is current: the key server, which needs `keyServerTokenFile`; or the publisher, who runs `wispr timestamp` by cron. The key server, if there is one.',
    }),
  })
  .superRefine(
    ({ keyServer, reading, content, timestampBy, keyServerTokenFile, plans: list, gifts: given }, context) => {
      const issue = (member: string, message: string) => context.addIssue({ code: 'custom', path: [member], message });
      if (reading === undefined && list.length > 0)
        issue('plans', 'are for a key server that gives keys out, and there is none');
      if (reading === undefined && given !== undefined)
        issue('gifts', 'are opened by a reading site, and there is none');
      if (keyServer !== undefined && reading !== undefined) return;
      if (reading !== undefined) return issue('keyServer', 'is missing, and a reading site needs a key server');
      if (!isOrigin(originsOf({ content })[0], { allowLoopback: true }))
        issue(
          'content',
          'must begin with an https origin (http only on loopback): without a reading site it is read there',
        );
      if (keyServer !== undefined) {
        if (timestampBy === 'publisher')
          issue('timestampBy', 'must be "keyserver": without a reading site, the key server is there for nothing else');
        return;
      }
      if (timestampBy === 'keyserver') issue('timestampBy', 'must be "publisher": there is no key server');
      else if (keyServerTokenFile !== undefined) issue('keyServerTokenFile', 'is for a key server, and there is none');
    },
  )
  .superRefine(({ site, reading, content }, context) => {
    if (reading === undefined) return;
    const origins = originsOf({ content });
    const hostname = URL.canParse(reading) ? new URL(reading).hostname : undefined;
    if (!origins.includes(reading) && (hostname !== site || isLoopback(site))) return;
    const message = `must be on another host than the site: a fallback page on ${site} would lead to itself`;
    context.addIssue({ code: 'custom', path: ['reading'], message });
  })
  .superRefine(({ site, redirects: list }, context) => {
    for (const [index, { to }] of list.entries()) {
      const url = destinationOf(to);
      if (!URL.canParse(url) || new URL(url).hostname !== site) continue;
      const message = `must be a path: with the host ${site} it would lead readers out of their Reader`;
      context.addIssue({ code: 'custom', path: ['redirects', index, 'to'], message });
    }
  })
  .transform(settle);

/** `wispr.json`, checked, with every default filled in. */
export type Configuration = z.output<typeof configurationSchema>;

/** Origins of the content hosts, in the order in which they are asked. */
export function originsOf({ content }: Pick<Configuration, 'content'>): readonly string[] {
  return typeof content === 'string' ? [content] : content;
}

/** Tells whether a key server gives keys out. Else they lie beside the site, in files, and its first content origin is the reading site. */
export function hasReadingSite({ content, reading }: Pick<Configuration, 'content' | 'reading'>): boolean {
  return !isServerless({ content: originsOf({ content }), reading });
}

/** Tells whether there is a key server: one that gives keys out, or one that keeps the publication fresh and has none. */
export function hasKeyServer({ content, keyServer }: Pick<Configuration, 'content' | 'keyServer'>): boolean {
  return keyServer !== originsOf({ content })[0];
}

type Settled = 'keyServer' | 'reading' | 'timestampBy';

/** Fills in the site's origin for a key server and a reading site that there are not. */
function settle<Written extends { content: string | string[]; timestampBy?: 'keyserver' | 'publisher' | undefined }>(
  written: Written & { readonly keyServer?: string | undefined; readonly reading?: string | undefined },
): Omit<Written, Settled> & { keyServer: string; reading: string; timestampBy: 'keyserver' | 'publisher' } {
  const [origin = ''] = originsOf(written);
  const { keyServer, reading = origin, timestampBy = keyServer === undefined ? 'publisher' : 'keyserver' } = written;
  return { ...written, keyServer: keyServer ?? origin, reading, timestampBy };
}

/** `wispr.json` as a person may write it. */
export type ConfigurationInput = z.input<typeof configurationSchema>;

export function configurationJsonSchema(): unknown {
  return {
    ...z.toJSONSchema(configurationSchema, { io: 'input' }),
    title: 'wispr.json',
    description: 'How `wispr protect` and `wispr publish` treat a site.',
    allowComments: true,
    allowTrailingCommas: true,
  };
}

function fillForCheck(name: string): string {
  return PLACEHOLDERS.reduce((filled, placeholder) => filled.replaceAll(`{${placeholder}}`, '00'), name);
}

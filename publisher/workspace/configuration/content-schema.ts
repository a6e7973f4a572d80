/** The parts of `wispr.json` that say how documents are answered: headers, redirects, and what is shown where there is none. */
import { z } from 'zod';
import { isSignedHeaderValue, SIGNED_HEADERS, type SignedHeaderName } from '../../../core/object/metadata.ts';
import { PUBLICATION_LIMITS } from '../../../core/publication/limits.ts';
import { isRedirectDestination } from '../../../core/publication/settings.ts';
import { documentPathOf, isDocumentPath } from '../../../core/site/path.ts';
import { isSoundPolicy } from '../../../reading/document-headers.ts';

/** Characters of all further headers of one document, so that they fit into its metadata. */
const MAXIMUM_HEADERS = 15_000;

export const SECONDS_PER_DAY = 86_400;

/** Paths inside the source. */
export const pattern = z
  .string()
  .min(1)
  .max(1024)
  .meta({ description: 'Paths inside the source, such as "style.css", "front/**" or "*.svg".' });

/** The name of a header as it stands in the configuration; one spelling for each, so that no two members mean the same. */
function writtenHeaderName(name: SignedHeaderName): string {
  return name.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}

const FORMS: Readonly<Partial<Record<SignedHeaderName, string>>> = {
  'cache-control':
    'must be "max-age=N" or "max-age=N, immutable", N in seconds: how long a reader\'s own browser may keep a document',
  'cross-origin-embedder-policy': 'must be "require-corp" or "credentialless"',
  'cross-origin-opener-policy': 'must be "same-origin" or "same-origin-allow-popups"',
};

const REFERRER_POLICY =
  /^(?:(?:no-referrer(?:-when-downgrade)?|same-origin|(?:strict-)?origin(?:-when-cross-origin)?|unsafe-url)(?:, ?(?!$)|$))+$/;

/** Policies that browsers drop where they are malformed: pages would have a weaker one than where nothing is signed. */
const HEEDED: Readonly<Partial<Record<SignedHeaderName, { test: (value: string) => boolean; error: string }>>> = {
  'permissions-policy': {
    test: isSoundPolicy,
    error:
      'must be features with their lists, such as "camera=(), fullscreen=(self)": browsers drop it whole otherwise',
  },
  'referrer-policy': {
    test: (value) => REFERRER_POLICY.test(value),
    error: 'must be a policy that browsers know, such as "no-referrer": they drop it otherwise',
  },
};

const headerValue = (name: SignedHeaderName) =>
  z
    .string()
    .refine((value) => isSignedHeaderValue(name, value), {
      error: FORMS[name] ?? 'must be 1 to 4,096 visible ASCII characters, with spaces only between them',
    })
    .refine((value) => HEEDED[name]?.test(value) ?? true, { error: HEEDED[name]?.error ?? '' })
    .optional();

const headerRule = z.strictObject({
  path: pattern,
  set: z
    .strictObject(Object.fromEntries(SIGNED_HEADERS.map((name) => [writtenHeaderName(name), headerValue(name)])))
    .refine((headers) => Object.keys(headers).length > 0, { error: 'names no header' })
    .meta({ description: 'Response headers, signed with the document.' }),
});

/** Rules for response headers. The longest value of each header counts, since rules add up. */
export const headers = z
  .array(headerRule)
  .default([])
  .refine((rules) => longestOfEach(rules) <= MAXIMUM_HEADERS, {
    // The number is written out: code that puts the comma there takes every command 30 ms to load.
    error: 'hold more than 15,000 characters that could meet in one document',
  })
  .meta({
    description: 'Response headers of documents; of several rules that name a header, the last that fits wins.',
  });

function longestOfEach(rules: readonly z.output<typeof headerRule>[]): number {
  const longest = new Map<string, number>();
  for (const { set } of rules) {
    for (const [name, value] of Object.entries(set)) {
      const length = JSON.stringify(name).length + JSON.stringify(value).length + 2;
      longest.set(name, Math.max(longest.get(name) ?? 0, length));
    }
  }
  return [...longest.values()].reduce((sum, length) => sum + length, 0);
}

const redirect = z.strictObject({
  from: z
    .string()
    .refine((text) => !/[?#]/.test(text) && documentPathOf(text) !== undefined, {
      error: 'must be a path as it stands in a URL, such as /old/page.html, without query and fragment',
    })
    .meta({ description: 'A path as it stands in a URL, such as /old/page.html.' }),
  to: z
    .string()
    .refine((text) => isRedirectDestination(destinationOf(text)), {
      error: 'must be a path such as /new/page.html?a#b, or an https URL',
    })
    .meta({ description: 'A path as it stands in a URL, perhaps with query and fragment, or an https URL.' }),
  status: z
    .union([z.literal(301), z.literal(302), z.literal(307), z.literal(308)], {
      error: 'must be 301, 302, 307 or 308',
    })
    .default(301)
    .meta({ description: '301 and 308: for good. 302 and 307: for now.' }),
});

/** Makes a check that refuses each entry with the same key as an earlier one, at one of its members. */
export function refuseTwins<Entry>(member: keyof Entry & string, keyOf: (entry: Entry) => unknown, message: string) {
  return (list: readonly Entry[], context: z.RefinementCtx): void => {
    const seen = new Set<unknown>();
    for (const [index, key] of list.map(keyOf).entries()) {
      if (seen.has(key)) context.addIssue({ code: 'custom', path: [index, member], message });
      seen.add(key);
    }
  };
}

export const redirects = z
  .array(redirect)
  .max(PUBLICATION_LIMITS.redirects)
  .default([])
  .superRefine(refuseTwins('from', ({ from }) => documentPathOf(from), 'is redirected by an earlier rule already'))
  .meta({ description: 'Where readers are led from addresses that have no document any more.' });

/** Returns a destination in the one spelling that is signed: what may not stand in a URL is percent-encoded. */
export function destinationOf(text: string): string {
  const base = 'https://site.invalid';
  if (/^\/[/\\]/.test(text) || !URL.canParse(text, base)) return text;
  const url = new URL(text, base);
  if (url.origin !== base) return url.href;
  return text.startsWith('/') ? url.pathname + url.search + url.hash : text;
}

/** Returns the path of a document as it is written inside the configuration, with or without a slash in front. */
export function writtenPath(text: string): string {
  return `/${text.replace(/^\.?\/+/, '')}`;
}

export const notFound = z
  .string()
  .refine((text) => isDocumentPath(writtenPath(text)), { error: 'must be the path of a document, such as 404.html' })
  .optional()
  .meta({ description: 'The public document that is shown where there is none; 404.html, if the site has it.' });

export const freshness = z
  .strictObject({
    hours: z
      .int()
      .min(1)
      .max(720)
      .default(48)
      .meta({ description: 'Hours for which a publication is fresh after it was last confirmed.' }),
    graceDays: z
      .int()
      .min(0)
      .max(Math.floor(PUBLICATION_LIMITS.grace / SECONDS_PER_DAY))
      .default(14)
      .meta({
        description: 'Days after that, in which readers are still shown it and told when it was last confirmed.',
      }),
    keptAfterGrace: z.boolean().default(false).meta({
      description:
        'Whether readers may read on after that what they have kept, behind one click that names the date. What you withdraw later does not reach them there.',
    }),
  })
  .prefault({})
  .meta({ description: 'How long readers believe a publication.' });

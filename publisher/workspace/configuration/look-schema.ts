/** The parts of `wispr.json` that say how pages beside the publisher's own look, and what they show of protected pages. */
import { z } from 'zod';
import { isSubscribeUrl } from '../../../core/publication/offers.ts';
import { problemOfTitle, TITLE_LIMITS } from '../../../core/publication/set-titles.ts';
import { isColour } from '../../../core/site/accent.ts';
import { isDocumentPath } from '../../../core/site/path.ts';
import { writtenPath } from './content-schema.ts';

export const accent = z
  .string()
  .refine(isColour, { error: 'must be a colour such as "#a3301d", in lower case' })
  .optional()
  .meta({
    description:
      'Your colour, such as "#a3301d", on teasers and on the pages for signing in and refusals. It must be readable on white.',
  });

export const logo = z
  .string()
  .refine((text) => isDocumentPath(writtenPath(text)), { error: 'must be the path of a document, such as logo.svg' })
  .optional()
  .meta({ description: 'A public picture of the site that stands at the head of teasers and refusals.' });

export const subscribe = z
  .string()
  .refine((text) => isSubscribeUrl(hrefOf(text)), { error: 'must be an https URL' })
  .optional()
  .meta({ description: 'Where people subscribe: an https URL.' });

export const sheet = z.boolean().default(true).meta({
  description:
    'Whether the in-browser reader puts a small button onto your pages: who signed the page, sharing, keeping for reading offline.',
});

/** Returns the address in the one spelling that is signed. */
export function hrefOf(text: string): string {
  return URL.canParse(text) ? new URL(text).href : text;
}

const title = z
  .strictObject({
    set: z.string().meta({ description: 'The name of a set, perhaps with {yyyy}, {mm} and {dd}.' }),
    title: z.string().meta({ description: 'What readers see in its place, with the same placeholders.' }),
  })
  .superRefine((value, context) => {
    const message = problemOfTitle(value);
    if (message !== undefined) context.addIssue({ code: 'custom', path: ['title'], message });
  });

export const titles = z
  .array(title)
  .max(TITLE_LIMITS.titles)
  .default([])
  .refine((list) => new Set(list.map(({ set }) => set)).size === list.length, { error: 'name one set twice' })
  .meta({ description: 'What readers see in place of the names of sets; the first that fits wins.' });

export const previews = z.enum(['public', 'none']).default('public').meta({
  description:
    '"public": the pictures that pages name by `og:image` are public documents, so that shared links have a picture. "none": teasers name none.',
});

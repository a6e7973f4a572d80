/** The member `mail` of the configuration. */
import { z } from 'zod';
import { isLoopback } from '../../core/site/site.ts';
import { file } from './paths.ts';

export const mailConfig = z
  .strictObject({
    smtp: z
      .string()
      .refine(isSmtpUrl, 'must be like smtps://user@mail.news.example:465, without a password: passwordFile names it')
      .meta({
        description:
          'The mail server: `smtps://USER@HOST:465`, or `smtp://…`, which demands STARTTLS of every host but loopback.',
      }),
    from: z
      .string()
      .max(200)
      .refine((text) => /^[^\p{C}]+$/u.test(text) && text.includes('@'), 'must be like News <reader@news.example>')
      .meta({ description: 'Sender, like `The News <reader@news.example>`.' }),
    passwordFile: file('The file with the password of the mail server.').optional(),
    connections: z.int().min(1).max(20).default(2).meta({ description: 'Connections to the mail server at a time.' }),
    queue: z.int().min(1).max(100_000).default(500).meta({
      description: 'Mails that can wait. Beyond them, pages that would send one say "try again in a minute".',
    }),
    templates: file('A folder with own texts in place of wispr\'s: docs/subscriptions.md, "By mail".').optional(),
  })
  .refine(
    ({ smtp, passwordFile }) => !isSmtpUrl(smtp) || (new URL(smtp).username === '') === (passwordFile === undefined),
    { path: ['passwordFile'], message: 'goes with a user in "smtp", and a user with it' },
  )
  .meta({ description: 'Sends invitations and codes by mail; off if left out.' });

export type MailConfig = z.infer<typeof mailConfig>;

function isSmtpUrl(text: string): boolean {
  if (!/^smtps?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { hostname, password, pathname, search, hash } = new URL(text);
  return hostname !== '' && password === '' && ['', '/'].includes(pathname) && search + hash === '';
}

/** Tells how a connection to the mail server is protected. */
export function smtpOptions({ smtp }: Pick<MailConfig, 'smtp'>) {
  const { protocol, hostname, port } = new URL(smtp);
  const host = hostname.replace(/^\[|\]$/g, '');
  const secure = protocol === 'smtps:';
  const isOwn = host === '::1' || isLoopback(host);
  return { host, port: Number(port || (secure ? 465 : 587)), secure, requireTLS: !secure && !isOwn };
}

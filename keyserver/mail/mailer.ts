/** Sends mail by SMTP: plain text, one recipient each. The library is loaded with the first mail. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import type { Logger } from 'pino';
import { lazily } from '../../node-support/lazily.ts';
import { readProgramFile } from '../../node-support/program-files.ts';
import { describeUnreadable, systemCode } from '../../node-support/system-error.ts';
import { type MailConfig, smtpOptions } from '../config/mail.ts';
import { readSecretFile } from '../config/secret-file.ts';
import { KeyServerError } from '../errors.ts';
import { requireMailAddress } from './address.ts';

const KINDS = ['invitation', 'sign-in', 'sign-up', 'move', 'moved', 'added'] as const;
export type MailKind = (typeof KINDS)[number];

/** What a template is given. */
export interface MailFields {
  readonly publisher: string;
  readonly site: string;
  readonly name?: string;
  /** Change in an account, as a sentence begins. */
  readonly what?: string;
  readonly link?: string;
  /** `undefined`: the link alone. */
  readonly code?: string | undefined;
  /** A day. */
  readonly until?: string;
}

export interface Mailer {
  /** @throws KeyServerError `argument-invalid` for what is no address; `mail-failed` */
  send(to: string, kind: MailKind, fields: MailFields): Promise<void>;
  /** Connects and signs in, and sends nothing. @throws KeyServerError `mail-failed` */
  check(): Promise<void>;
  /** Sends after the caller has answered; what fails is logged, without the address. Beyond 500 that wait, mail is dropped. */
  sendLater(to: string, kind: MailKind, fields: MailFields): void;
  /** Waits for what is on its way. */
  close(): Promise<void>;
}

const TIMEOUT = 10_000;
const MAXIMUM_WAITING = 500;
const MAXIMUM_SUBJECT_LENGTH = 200;

/** @throws KeyServerError `configuration-invalid` where the password or a template cannot be read */
export function checkMailer({ passwordFile, templates }: MailConfig): void {
  readPassword(passwordFile);
  readTemplates(templates);
}

/** Called with what became of each mail. */
export type CountMail = (what: `mail ${'dropped' | 'failed' | 'refused' | 'sent'}`) => void;

/** @throws KeyServerError as {@link checkMailer} does */
export function createMailer(config: MailConfig, log: Pick<Logger, 'error'>, count: CountMail = () => {}): Mailer {
  const password = readPassword(config.passwordFile);
  const render = readTemplates(config.templates);
  let close = () => {};
  const transport = lazily(async () => {
    const { createTransport } = await import('nodemailer');
    const user = decodeURIComponent(new URL(config.smtp).username);
    const made = createTransport({
      ...smtpOptions(config),
      ...(password !== undefined && { auth: { user, pass: password } }),
      pool: true,
      maxConnections: 2,
      tls: { minVersion: 'TLSv1.2' },
      connectionTimeout: TIMEOUT,
      greetingTimeout: TIMEOUT,
      socketTimeout: TIMEOUT,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    close = () => made.close();
    return made;
  });
  const waiting = new Set<Promise<void>>();
  const send = async (to: string, kind: MailKind, fields: MailFields) => {
    const address = requireMailAddress(to);
    try {
      const mail = { ...render(kind, fields), from: config.from, to: { name: '', address } };
      await (await transport()).sendMail({ ...mail, headers: { 'Auto-Submitted': 'auto-generated' } });
      count('mail sent');
    } catch (cause) {
      count((cause as { responseCode?: number }).responseCode ? 'mail refused' : 'mail failed');
      throw new KeyServerError('mail-failed', 'the mail could not be sent', { cause });
    }
  };
  return {
    send,
    check: async () => {
      try {
        await (await transport()).verify();
      } catch (cause) {
        throw new KeyServerError('mail-failed', `the mail server refuses: ${systemCode(cause) ?? 'unknown'}`, {
          cause,
        });
      }
    },
    sendLater: (to, kind, fields) => {
      if (waiting.size >= MAXIMUM_WAITING) {
        count('mail dropped');
        return log.error({ code: 'mail-failed', reason: 'too many wait' }, 'no mail');
      }
      const sent: Promise<void> = send(to, kind, fields)
        .catch(({ code, cause }) => log.error({ code, reason: cause?.code ?? 'unknown' }, 'no mail'))
        .finally(() => waiting.delete(sent));
      waiting.add(sent);
    },
    close: async () => {
      await Promise.all(waiting);
      close();
    },
  };
}

function readPassword(file: string | undefined): string | undefined {
  return file === undefined ? undefined : readSecretFile(file);
}

/** Text is not escaped: it is no HTML. A template's first line is the subject. */
function readTemplates(
  folder: string | undefined,
): (kind: MailKind, fields: MailFields) => { subject: string; text: string } {
  const eta = new Eta({ autoEscape: false });
  for (const kind of KINDS) eta.loadTemplate(`@${kind}`, templateText(kind, folder));
  return (kind, fields) => {
    const [subject = '', ...lines] = eta.render(`@${kind}`, fields).trim().split('\n');
    return { subject: oneLine(subject), text: `${lines.join('\n').trim()}\n` };
  };
}

/** Names are without control characters already; what a template adds is not trusted to be. */
function oneLine(text: string): string {
  return text
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, MAXIMUM_SUBJECT_LENGTH);
}

function templateText(kind: MailKind, folder: string | undefined): string {
  const own = folder === undefined ? undefined : readIfThere(join(folder, `${kind}.eta`));
  return own ?? readProgramFile(`templates/${kind}.eta`, import.meta.url).toString();
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (systemCode(cause) === 'ENOENT') return undefined;
    throw new KeyServerError('configuration-invalid', describeUnreadable(file, cause), { cause });
  }
}

/** Sends mail by SMTP: plain text, one recipient each. The library is loaded with the first mail. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Eta } from 'eta';
import type { Logger } from 'pino';
import { isLoopback } from '../../core/site/site.ts';
import { lazily } from '../../node-support/lazily.ts';
import { printable } from '../../node-support/printable.ts';
import { readProgramFile } from '../../node-support/program-files.ts';
import { describeUnreadable, systemCode } from '../../node-support/system-error.ts';
import { type MailConfig, smtpOptions } from '../config/mail.ts';
import { readSecretFile } from '../config/secret-file.ts';
import { KeyServerError, misconfigured } from '../errors.ts';
import { NEEDS_UTF8, requireMailAddress } from './address.ts';

const KINDS = ['invitation', 'sign-in', 'sign-up', 'move', 'moved', 'added', 'bought', 'payment-failed'] as const;
export type MailKind = (typeof KINDS)[number];

export interface MailFields {
  readonly publisher: string;
  readonly site: string;
  readonly name?: string;
  /** Change in an account, as a sentence begins. */
  readonly what?: string;
  readonly link?: string;
  /** `undefined`: the link alone. */
  readonly code?: string | undefined;
  readonly until?: string;
  /** Page that ends mails like this one. */
  readonly unsubscribe?: string;
}

export interface Mailer {
  /**
   * Sends a mail.
   *
   * @param unsubscribe - address that ends mails like this one (RFC 8058)
   * @throws KeyServerError `name-refused` for what is no address; `mail-failed`; `mail-refused` where there is no such address
   */
  send(to: string, kind: MailKind, fields: MailFields, unsubscribe?: string): Promise<void>;
  /** Asks before anything is done for a mail. @throws KeyServerError `busy` where as many wait as may */
  demandPlace(): Promise<void>;
  /** Sends after the caller has answered; what fails is logged, without the address. Twice as many may wait as {@link Mailer.demandPlace} lets in; mails beyond them are dropped. */
  sendLater(to: string, kind: MailKind, fields: MailFields): void;
  /** Waits for what is on its way. */
  close(): Promise<void>;
}

/** A mailer with connections of its own. */
export interface SmtpMailer extends Mailer {
  /** Connects and signs in, and sends nothing. @throws KeyServerError `mail-failed` */
  check(): Promise<void>;
}

/**
 * Called with what became of each mail: taken by the mail server; not taken; refused for good, as there is no such address; and dropped, because too
 * many wait.
 */
type CountMail = (what: `mail ${'dropped' | 'failed' | 'refused' | 'sent'}`) => void;

export interface MailerOptions {
  /** Origin of the reading site: its host is the name by which mail servers are greeted. */
  readonly readingSite?: string | undefined;
  readonly log?: Pick<Logger, 'error'>;
  readonly count?: CountMail;
  /** Notes that mail to this name was taken, or what the mail server said to refuse it for good. */
  readonly note?: (name: string, refusal: string | undefined) => Promise<void>;
}

const TIMEOUT = 10_000;
const MAXIMUM_SUBJECT_LENGTH = 200;
const MAXIMUM_ANSWER_LENGTH = 200;
/** Answers that there is no such mailbox (RFC 3463). Others refuse the sender, or for now. */
const NO_SUCH_ADDRESS = /^5\d\d[ -]5\.(?:1\.(?:[1236]|10)|2\.1)\b/;

const ignore = () => undefined;
const SILENT = { trace: ignore, info: ignore, warn: ignore, error: ignore, fatal: ignore };

/** @throws KeyServerError `configuration-invalid` where the password or a template cannot be read */
export function checkMailer({ passwordFile, templates }: MailConfig): void {
  readPassword(passwordFile);
  readTemplates(templates);
}

/** @throws KeyServerError as {@link checkMailer} does */
export function createMailer(config: MailConfig, { readingSite, log, count, note }: MailerOptions = {}): SmtpMailer {
  const password = readPassword(config.passwordFile);
  const render = readTemplates(config.templates);
  const { hostname } = readingSite === undefined ? {} : new URL(readingSite);
  let close = () => {};
  /** The mail server says so when it is greeted. */
  let takesUtf8 = false;
  const hear = ({ tnx }: { readonly tnx?: string }, line: string) => {
    takesUtf8 ||= tnx === 'server' && /^250[ -]SMTPUTF8\b/im.test(line);
  };
  const transport = lazily(async () => {
    const { createTransport } = await import('nodemailer');
    const user = decodeURIComponent(new URL(config.smtp).username);
    const made = createTransport({
      ...smtpOptions(config),
      ...(password !== undefined && { auth: { user, pass: password } }),
      ...(hostname !== undefined && !isLoopback(hostname) && { name: hostname }),
      pool: true,
      maxConnections: config.connections,
      tls: { minVersion: 'TLSv1.2' },
      connectionTimeout: TIMEOUT,
      greetingTimeout: TIMEOUT,
      socketTimeout: TIMEOUT,
      disableFileAccess: true,
      disableUrlAccess: true,
      transactionLog: true,
      logger: { ...SILENT, debug: hear },
    });
    close = () => made.close();
    return made;
  });
  const waiting = new Set<Promise<void>>();
  const send: Mailer['send'] = async (to, kind, fields, unsubscribe) => {
    const address = requireMailAddress(to);
    const list = unsubscribe !== undefined && {
      'List-Unsubscribe': { prepared: true, value: `<${unsubscribe}>` },
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    };
    try {
      if (address.search(NEEDS_UTF8) >= 0 && !takesUtf8) {
        await (await transport()).verify();
        if (!takesUtf8) throw refused('it takes no letters before the @ but a to z (no SMTPUTF8)');
      }
      const mail = { ...render(kind, fields), from: config.from, to: { name: '', address } };
      await (await transport()).sendMail({ ...mail, headers: { 'Auto-Submitted': 'auto-generated', ...list } });
    } catch (cause) {
      const error = mailError(cause);
      const isRefused = error.code === 'mail-refused';
      count?.(isRefused ? 'mail refused' : 'mail failed');
      if (isRefused) await note?.(to, String(error.fields.answer));
      throw error;
    }
    count?.('mail sent');
    // The mail is taken, whatever the database says.
    await note?.(to, undefined).catch((err: unknown) =>
      log?.error({ err }, 'that a mail was taken could not be noted'),
    );
  };
  return {
    send,
    check: async () => {
      try {
        await (await transport()).verify();
      } catch (cause) {
        throw mailError(cause);
      }
    },
    demandPlace: async () => {
      if (waiting.size >= config.queue) throw new KeyServerError('busy', 'too many mails wait');
    },
    sendLater: (to, kind, fields) => {
      if (waiting.size >= 2 * config.queue) {
        count?.('mail dropped');
        return log?.error({ code: 'mail-failed', kind, reason: 'too many wait' }, 'no mail');
      }
      const sent: Promise<void> = send(to, kind, fields)
        .catch(({ code, fields }) => log?.error({ code, kind, reason: fields?.answer ?? 'unknown' }, 'no mail'))
        .finally(() => waiting.delete(sent));
      waiting.add(sent);
    },
    close: async () => {
      await Promise.all(waiting);
      close();
    },
  };
}

function mailError(cause: unknown): KeyServerError {
  if (cause instanceof KeyServerError) return cause;
  const { command, response } = cause as { readonly command?: unknown; readonly response?: unknown };
  const said = typeof response === 'string' ? shownAnswer(response) : undefined;
  const answer = said ?? systemCode(cause) ?? 'unknown';
  if (said !== undefined && command === 'RCPT TO' && NO_SUCH_ADDRESS.test(said)) return refused(answer, cause);
  const what = said === undefined ? 'the mail server cannot be reached' : 'the mail server does not take the mail';
  return new KeyServerError('mail-failed', `${what}: ${answer}`, { cause, fields: { answer } });
}

function refused(answer: string, cause?: unknown): KeyServerError {
  const message = `the mail server refuses the address: ${answer}`;
  return new KeyServerError('mail-refused', message, { cause, fields: { answer } });
}

/** The first line, without words that may be an address, a link or a code of the mail. */
function shownAnswer(response: string): string {
  const [line = ''] = response.trim().split(/[\r\n]/, 1);
  const words = line.split(/\s+/).map((word) => (/@|\/\/|#|\d{6}|[A-Z\d]{4}-[A-Z\d]{4}/.test(word) ? '…' : word));
  return printable(words.join(' ').slice(0, MAXIMUM_ANSWER_LENGTH));
}

function readPassword(file: string | undefined): string | undefined {
  return file === undefined ? undefined : readSecretFile(file);
}

/** Text is not escaped: it is no HTML. A template's first line is the subject. */
function readTemplates(
  folder: string | undefined,
): (kind: MailKind, fields: MailFields) => { subject: string; text: string } {
  const eta = new Eta({ autoEscape: false });
  for (const kind of KINDS) {
    const own = folder === undefined ? undefined : readIfThere(join(folder, `${kind}.eta`));
    eta.loadTemplate(`@${kind}`, own ?? readProgramFile(`templates/${kind}.eta`, import.meta.url).toString());
  }
  return (kind, fields) => {
    const [subject = '', ...lines] = eta.render(`@${kind}`, fields).trim().split('\n');
    // Names are without control characters already; what a template adds is not trusted to be.
    const oneLine = subject
      .replace(/\p{C}+/gu, ' ')
      .trim()
      .slice(0, MAXIMUM_SUBJECT_LENGTH);
    return { subject: oneLine, text: `${lines.join('\n').trim()}\n` };
  };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (systemCode(cause) === 'ENOENT') return undefined;
    throw misconfigured(describeUnreadable(file, cause), cause);
  }
}

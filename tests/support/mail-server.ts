/** A real mail server on loopback, and what it has seen. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { vi } from 'vitest';
import { type MailConfig, mailConfig } from '../../keyserver/config/mail.ts';

/** The settings `mail` with what is left out. */
export function mailSettings(smtp: string, more: Partial<MailConfig> = {}): MailConfig {
  return mailConfig.parse({ smtp, from: 'The Saltmere Packet <reader@news.example>', ...more });
}

export interface MailServer {
  readonly port: number;
  /** Settings of a key server that sends by it. */
  readonly settings: MailConfig;
  /** Mails that nobody has taken yet, decoded, oldest first. */
  readonly mails: { readonly to: string; readonly text: string }[];
  readonly signIns: { readonly password: unknown; readonly overTls: boolean }[];
  /** Waits for a mail, and takes it away. */
  readonly take: (to: string) => Promise<string>;
  readonly close: () => Promise<void>;
}

/** Takes any password, or none, in the clear too. @param options - left out: without TLS */
export async function startMailServer(
  options: SMTPServerOptions = { disabledCommands: ['STARTTLS'] },
): Promise<MailServer> {
  const [mails, signIns] = [[], []] as [MailServer['mails'], MailServer['signIns']];
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: ({ username, password }, { secure }, done) => {
      signIns.push({ password, overTls: secure });
      done(null, { user: username });
    },
    onData: (stream, { envelope }, done) => {
      text(stream).then((raw) => {
        const decoded = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
        mails.push({ to: envelope.rcptTo.map(({ address }) => address).join(), text: decoded });
        done();
      }, done);
    },
    ...options,
  });
  server.on('error', () => undefined); // clients may break off
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  const take = async (wanted: string) => {
    const index = await vi.waitUntil(() => mails.findIndex(({ to }) => to === wanted) + 1, { timeout: 10_000 });
    return mails.splice(index - 1, 1)[0]?.text ?? '';
  };
  const settings = mailSettings(`smtp://127.0.0.1:${port}`);
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { port, settings, mails, signIns, take, close };
}

/** The six digits in the subject of a mail; nothing, where it has none. */
export const codeInMail = (text: string) => /Subject: .*?(\d{6})/.exec(text)?.[1] ?? '';

/** A pretended mailbox: takes whatever comes by SMTP (RFC 5321) on loopback, whoever it is for, and sends nothing on. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Mailbox {
  /** The address of the mail server. */
  readonly smtp: string;
  /** Mails, newest last; older ones than the last {@link MOST_MAILS} are forgotten. */
  readonly mails: readonly Mail[];
  stop(): Promise<void>;
}

const MOST_MAILS = 100;
const MAXIMUM_LENGTH = 262_144;
const TAKEN = '250 taken';
const ANSWERS: Readonly<Record<string, string>> = {
  EHLO: '250-mailbox\r\n250-8BITMIME\r\n250 SMTPUTF8',
  ...{ HELO: TAKEN, MAIL: TAKEN, RCPT: TAKEN, RSET: TAKEN, NOOP: TAKEN },
  ...{ DATA: '354 go on', QUIT: '221 bye' },
};

/** @param told - called after each mail */
export async function startMailbox(told: () => void): Promise<Mailbox> {
  const mails: Mail[] = [];
  const sockets = new Set<Socket>();
  const take = (mail: Mail) => {
    mails.push(mail);
    mails.splice(0, mails.length - MOST_MAILS);
    told();
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    converse(socket, take).catch(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    smtp: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mails,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function converse(socket: Socket, take: (mail: Mail) => void): Promise<void> {
  const say = (line: string) => socket.write(`${line}\r\n`);
  say('220 mailbox');
  let to = '';
  let data: string | undefined;
  for await (const line of createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (data === undefined) {
      const verb = line.slice(0, 4).toUpperCase();
      if (verb === 'RCPT') to = /<(.*)>/.exec(line)?.[1] ?? '';
      if (verb === 'DATA') data = '';
      say(ANSWERS[verb] ?? '502 not here');
      if (verb === 'QUIT') socket.end();
    } else if (line !== '.') {
      data += `${line.replace(/^\./, '')}\n`;
      if (data.length > MAXIMUM_LENGTH) socket.destroy();
    } else {
      take({ to, ...readMail(data) });
      data = undefined;
      say(TAKEN);
    }
  }
}

/** Subject and plain text of a mail (RFC 2045 to 2047), as far as the key server's have them. */
function readMail(source: string): Pick<Mail, 'subject' | 'text'> {
  const [head = '', ...rest] = source.split('\n\n');
  const unfolded = head.replace(/\n[ \t]+/g, ' ');
  const field = (name: string) => new RegExp(`^${name}: *(.*)$`, 'im').exec(unfolded)?.[1] ?? '';
  const boundary = /^multipart\/.*boundary="?([^";]+)/i.exec(field('content-type'))?.[1];
  const body = rest.join('\n\n');
  const plain = boundary === undefined ? undefined : body.split(`--${boundary}`)[1];
  const text = plain === undefined ? decode(body, field('content-transfer-encoding')) : readMail(plain.slice(1)).text;
  const subject = field('subject')
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([bq])\?(.*?)\?=/gi, (_all, way: string, word: string) =>
      decode(word.replaceAll('_', ' '), /b/i.test(way) ? 'base64' : 'quoted-printable'),
    );
  return { subject, text: text.trim() };
}

function decode(text: string, encoding: string): string {
  if (/base64/i.test(encoding)) return Buffer.from(text, 'base64').toString();
  if (!/quoted-printable/i.test(encoding)) return text;
  const bytes = text
    .replace(/=\n/g, '')
    .replace(/=([\dA-F]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

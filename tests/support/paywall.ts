/** A publisher's own paywall on loopback: it checks signatures by the rules of Standard Webhooks, and misbehaves as it is told. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { closeServer, listenOnLoopback } from './content-host.ts';

export interface Paywall {
  readonly url: string;
  /** Subscribers that it was asked about, with a good signature. */
  readonly asked: string[];
  /** Answer from now on, or a function that answers by itself. */
  answer: unknown | ((response: ServerResponse) => void);
  readonly close: () => Promise<void>;
}

export async function startPaywall(secret: string): Promise<Paywall> {
  const paywall = { asked: [] as string[], answer: { plans: [] } as Paywall['answer'] };
  const server = createServer(async (request, response) => {
    const subscriber = verified(await text(request), request, secret);
    if (subscriber === undefined) return void response.writeHead(401).end();
    paywall.asked.push(subscriber);
    if (typeof paywall.answer === 'function') paywall.answer(response);
    else response.end(JSON.stringify(paywall.answer));
  });
  const url = `http://127.0.0.1:${await listenOnLoopback(server)}/wispr`;
  return Object.assign(paywall, { url, close: () => closeServer(server) });
}

/** @returns whom the question is about */
function verified(body: string, { headers, method }: IncomingMessage, secret: string): string | undefined {
  const [id, time] = [headers['webhook-id'], headers['webhook-timestamp']];
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const wanted = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`);
  const given = Buffer.from(String(headers['webhook-signature']));
  if (method !== 'POST' || given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
  const question = JSON.parse(body) as { subscriber: string; time: number };
  return String(question.time) === time && /^msg_[\w-]{22}$/.test(String(id)) ? question.subscriber : undefined;
}

/** Takes the vectors of httpcrypt.json through core. README.md names the operations. */
import { x25519KeyPair } from '#channel';
import type { JsonObject } from '../../../core/encoding/canonical-json.ts';
import { ChannelError } from '../../../core/httpcrypt/errors.ts';
import { decodeCookie } from '../../../core/httpcrypt/exchange.ts';
import {
  recordFromAddresses,
  recordFromAnswer,
  recordFromText,
  serverKey,
  verifyRecord,
} from '../../../core/httpcrypt/record.ts';
import { openAnswer, openRequest } from '../../support/open-messages.ts';
import { fromBase64, type KeyVector, toBase64 } from '../format.ts';
import { type KeyOutcome, outcomeOf } from './keys.ts';
import { describeBytes } from './objects.ts';

type Values = KeyVector['input'];
const bytes = (input: Values, name: string) => fromBase64(String(input[name]));

const OPERATIONS: Record<string, (input: Values) => Promise<JsonObject>> = {
  'verify-record': async (input) => {
    const door = { url: String(input.url), key: bytes(input, 'key') };
    const { publicKey, id, notAfter } = await verifyRecord(bytes(input, 'record'), door, Number(input.now));
    return { publicKey: toBase64(publicKey), id: toBase64(id), notAfter };
  },
  'read-text': async ({ text }) => found(recordFromText(String(text))),
  'read-options': async ({ text }) => found(recordFromAnswer(String(text))),
  'read-addresses': async ({ addresses }) => found(recordFromAddresses(String(addresses).split(' '))),
  agree: async (input) => {
    const secret = x25519KeyPair(bytes(input, 'seed')).agree(bytes(input, 'publicKey'));
    if (!secret) throw new ChannelError('channel-key-refused', 'small order');
    return { secret: toBase64(secret) };
  },
  'open-request': async (input) => {
    const keys = x25519KeyPair(bytes(input, 'seed'));
    const { id } = await serverKey(keys.publicKey, 0);
    const cookie = decodeCookie(String(input.cookie));
    const known = cookie && toBase64(cookie.keyId) === toBase64(id) ? cookie : undefined;
    const { shown = new Uint8Array(0) } = known ?? {};
    const secret = toBase64(shown) === input.ticket ? bytes(input, 'secret') : keys.agree(shown);
    if (!known || !secret) throw new ChannelError('channel-unreadable', 'no request');
    const { head, content } = openRequest({ publicKey: keys.publicKey, shown, secret }, bytes(input, 'body'));
    return { ...head, fields: [...head.fields], content: await describeBytes(content) };
  },
  'open-answer': async (input) => {
    const [publicKey, shown, secret] = [bytes(input, 'publicKey'), bytes(input, 'shown'), bytes(input, 'secret')];
    const answer = openAnswer({ publicKey, shown, secret }, bytes(input, 'salt'), bytes(input, 'body'));
    const { status, fields, content, ticket } = answer;
    const brought = { ticket: toBase64(ticket.shown), secret: toBase64(ticket.secret) };
    return { status, fields: [...fields], content: await describeBytes(content), ...brought };
  },
};

function found(record: Uint8Array | undefined): JsonObject {
  if (!record) throw new ChannelError('channel-key-refused', 'no record');
  return { record: toBase64(record) };
}

export function runHttpcryptVector({ operation, input }: KeyVector): Promise<KeyOutcome> {
  return outcomeOf(OPERATIONS[operation], input, (error) => error instanceof ChannelError && error.code);
}

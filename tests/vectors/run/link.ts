/** Takes the vectors of link.json through the relays' parts. README.md names the operations. */
import { entryOf, hashOf } from '../../../link/substitution/compressed.ts';
import { FarSide } from '../../../link/substitution/far.ts';
import { NearSide } from '../../../link/substitution/near.ts';
import { ProtocolViolation } from '../../../link/substitution/passage.ts';
import type { KeyVector } from '../format.ts';
import { type KeyOutcome, outcomeOf } from './keys.ts';

const PORT = 443;

type Values = KeyVector['input'];
/** Values in base64, with spaces between them. */
const each = (input: Values, name: string) =>
  String(input[name] ?? '')
    .split(' ')
    .filter((text) => text !== '')
    .map((text) => Buffer.from(text, 'base64'));
const bytes = (input: Values, name: string) => each(input, name)[0] ?? Buffer.alloc(0);

const forgetful = { learnChain: () => undefined, learnClient: () => undefined, forget: () => undefined };
const nearOf = (input: Values) => {
  const known = { chain: each(input, 'chain'), clientHashes: each(input, 'clients') };
  return new NearSide({ ...forgetful, recall: () => known }, PORT);
};
const farOf = (input: Values) => {
  const held = each(input, 'held');
  const find = (entry: Buffer) => held.find((one) => entryOf(hashOf(one)).equals(entry));
  return new FarSide({ find, learn: () => undefined });
};

const OPERATIONS: Record<string, (input: Values) => Buffer> = {
  list: (input) => nearOf(input).fromClient.push(bytes(input, 'records')),
  unlist: (input) => farOf(input).fromNear.push(bytes(input, 'records')),
  substitute: (input) => {
    const far = farOf(input);
    far.fromNear.push(bytes(input, 'hello'));
    return Buffer.concat([far.fromServer.push(bytes(input, 'records')), far.fromServer.end()]);
  },
  restore: (input) => {
    const near = nearOf(input);
    near.fromClient.push(bytes(input, 'hello'));
    return Buffer.concat([near.fromServer.push(bytes(input, 'records')), near.fromServer.end()]);
  },
};

export function runLinkVector({ operation, input }: KeyVector): Promise<KeyOutcome> {
  const run = (values: Values) => ({ records: OPERATIONS[operation]?.(values).toString('base64') ?? '' });
  return outcomeOf(run, input, (error) => error instanceof ProtocolViolation && 'refused');
}

/** Links of invitations, as they arrive. */
import { expect, it } from 'vitest';
import { parseFragment } from '../../web-reader/open/invitation.ts';

const ORIGIN = 'https://friends.example';
const VALUE = 'AAECAwQFBgcICQoLDA0ODw';
const BYTES = Uint8Array.from({ length: 16 }, (_, index) => index);
const parsed = (hash: string) => parseFragment(hash, ORIGIN).invitation;

it.each(['', '.', ',', ')', '>', ']', '"', '\u201d', '\u00bb', "'", '>.', ' ', '\n', '). Bye', '%22', '&to=/x.'])(
  'opens with %j behind it',
  (rest) => {
    expect(parsed(`#i=${VALUE}${rest}`)).toEqual({ secret: BYTES });
    expect(parsed(`#p=${VALUE}${rest}`)).toEqual({ salt: BYTES });
  },
);

it('is broken where something is missing, or more than that stands there', () => {
  for (const value of ['', '.', VALUE.slice(1), `${VALUE}A`, `.${VALUE}`, `${VALUE.slice(0, 9)}.${VALUE.slice(9)}`])
    for (const name of ['i', 'p']) expect(parsed(`#${name}=${value}`)).toBe('broken');
  expect(parsed('#to=/x')).toBeUndefined();
  expect(parsed('')).toBeUndefined();
});

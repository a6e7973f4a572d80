import { expect, it } from 'vitest';
import { documentHeaders, NO_PASSKEYS } from '../../reading/document-headers.ts';

const served = (signed: string) => documentHeaders({ 'permissions-policy': signed })['permissions-policy'];

it('attack 136: puts the refusal of passkeys behind a signed policy', () => {
  for (const signed of [
    'camera=()',
    'camera=*, geolocation=(self)',
    'fullscreen=(self "https://film.example" src),usb=()',
    'publickey-credentials-get=*',
  ])
    expect(served(signed)).toBe(`${signed}, ${NO_PASSKEYS}`);
});

it('attack 136: leaves a signed policy out that browsers could drop with everything behind it', () => {
  const members = ['x=(', 'camera=();', 'CAMERA=()', 'camera=( self)', 'camera=(self', 'a=?1='];
  for (const signed of [...members, 'a', '', 'a="b', 'a=(") ']) expect(served(signed)).toBe(NO_PASSKEYS);
});

it('isolates windows from their openers unless the publisher signed how, and documents only where that is signed', () => {
  const signed = {
    'cross-origin-embedder-policy': 'credentialless',
    'cross-origin-opener-policy': 'same-origin-allow-popups',
  };
  expect(documentHeaders(signed)).toMatchObject(signed);
  expect(documentHeaders({})['cross-origin-opener-policy']).toBe('same-origin');
  expect(documentHeaders({})).not.toHaveProperty('cross-origin-embedder-policy');
});

/** The publisher's colour: used where it can be read. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  accentOf,
  BUILT_IN_ACCENT,
  contrastOf,
  isReadable,
  ON_DARK_ACCENT,
  ON_LIGHT_ACCENT,
} from '../../core/site/accent.ts';

/** Backgrounds of the pages that use it, as their style sheets have them. */
const LIGHT = ['#ffffff', '#faf8f4', '#f7f6f2'];
const DARK = ['#161513', '#201e1b', '#12171c', '#1a2128'];

const colour = fc.stringMatching(/^#[0-9a-f]{6}$/);

describe('a colour', () => {
  it('is measured as WCAG measures it', () => {
    expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21, 5);
    expect(contrastOf('#777777', '#ffffff')).toBeCloseTo(4.48, 2);
    expect(contrastOf('#ffffff', '#777777')).toBeCloseTo(4.48, 2);
  });

  it('can be read on every page, and on it the text of buttons, whatever the publisher names', () => {
    fc.assert(
      fc.property(fc.option(colour, { nil: undefined }), (named) => {
        const { light, dark } = accentOf(named);
        for (const paper of [...LIGHT, ON_LIGHT_ACCENT]) expect(contrastOf(light, paper)).toBeGreaterThanOrEqual(4.5);
        for (const paper of [...DARK, ON_DARK_ACCENT]) expect(contrastOf(dark, paper)).toBeGreaterThanOrEqual(4.5);
      }),
      { examples: [['#000000'], ['#0000ff'], ['#a3301d'], [undefined]] },
    );
  });

  it('is the publisher’s where it can be read, and wispr’s own where not', () => {
    expect(accentOf('#a3301d').light).toBe('#a3301d');
    expect(isReadable('#ffee00')).toBe(false);
    expect(accentOf('#ffee00')).toEqual(BUILT_IN_ACCENT);
    expect(accentOf(undefined)).toEqual(BUILT_IN_ACCENT);
  });
});

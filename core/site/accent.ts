/**
 * The publisher's colour on the pages that stand beside its own: teaser, sign-in, account and refusals. A colour that cannot be read as text
 * there is not used. WCAG 2.2, "contrast ratio".
 */

/** A colour for each scheme, as `#rrggbb`. */
export interface Accent {
  /** Colour on light backgrounds, with white text on it. */
  readonly light: string;
  /** Colour on dark backgrounds, with {@link ON_DARK_ACCENT} as text on it. */
  readonly dark: string;
}

/** Colours where the publisher names none, or one that is too pale. */
export const BUILT_IN_ACCENT: Accent = { light: '#0b5d66', dark: '#76c7cf' };
export const ON_LIGHT_ACCENT = '#ffffff';
export const ON_DARK_ACCENT = '#12171c';

/** Backgrounds of these pages on which text is hardest to read. */
const PAPER = { light: '#f7f6f2', dark: '#1a2128' } as const;
/** Contrast that text of any size needs (1.4.3). */
const LEAST_CONTRAST = 4.5;
/** Number of steps in which a colour becomes white. */
const STEPS = 16;

/** Tells whether `text` is a colour in the one spelling that is signed: `#rrggbb`, in lower case. */
export function isColour(text: unknown): text is string {
  return typeof text === 'string' && /^#[0-9a-f]{6}$/.test(text);
}

/** Tells whether a colour can be read as text on these pages. @param colour - as {@link isColour} takes it */
export function isReadable(colour: string): boolean {
  return contrastOf(colour, PAPER.light) >= LEAST_CONTRAST;
}

/**
 * The colours of a publisher's pages. On dark pages its colour is lightened until it can be read.
 *
 * @param colour - as {@link isColour} takes it; `undefined` if the publisher names none
 */
export function accentOf(colour: string | undefined): Accent {
  if (colour === undefined || !isReadable(colour)) return BUILT_IN_ACCENT;
  for (let step = 0; step < STEPS; step++) {
    const dark = lightened(colour, step / STEPS);
    if (contrastOf(dark, PAPER.dark) >= LEAST_CONTRAST) return { light: colour, dark };
  }
  return { light: colour, dark: '#ffffff' };
}

/** The contrast ratio of two colours, from 1 to 21. */
export function contrastOf(a: string, b: string): number {
  const [dark = 0, light = 0] = [a, b].map(luminanceOf).sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = partsOf(colour).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function lightened(colour: string, share: number): string {
  const parts = partsOf(colour).map((part) => Math.round(part + (255 - part) * share));
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

function partsOf(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}

/** Names of browsers and systems, by what a browser says of itself: no more of that is kept. */
type Known = readonly (readonly [sign: RegExp, name: string])[];

/** Browsers; those come first that others are named beside. */
const BROWSERS: Known = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS = ['Android', 'iPhone', 'iPad', 'Windows', 'Mac', 'CrOS', 'Linux'];

/** The label of a browser's device, as `Chrome/Android`; `undefined` for what is not common. @param userAgent - of its request */
export function deviceLabel(userAgent = ''): string | undefined {
  const browser = BROWSERS.find(([sign]) => sign.test(userAgent))?.[1];
  const system = SYSTEMS.find((name) => userAgent.includes(name));
  return browser && system && `${browser}/${system}`;
}

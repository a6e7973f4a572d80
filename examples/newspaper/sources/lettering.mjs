// The newspaper's own capitals, drawn by hand: thick stems, hair-thin bars. 100 units high, baseline at 100.
// The pictures carry these shapes instead of text, so they look the same on a machine with no fonts at all.

const stem = (x, width = 22) =>
  `M${x - 9},0H${x + width + 9}V4Q${x + width},5 ${x + width},15V85Q${x + width},95 ${x + width + 9},96V100H${x - 9}V96Q${x},95 ${x},85V15Q${x},5 ${x - 9},4Z`;
const thinStem = (x) => `M${x - 10},0H${x + 16}V5H${x + 6}V95H${x + 16}V100H${x - 10}V95H${x}V5H${x - 10}Z`;
const bowl = 'M30,0H48C86,0 86,55 48,55H30V49H45C62,49 62,6 45,6H30Z';

/** Advance width and path of each letter. Each subpath is filled on its own: overlaps simply join. */
const LETTERS = {
  A: [108, ['M50,0H57L100,95H107V100H66V95H75L49,32L24,95H34V100H2V95H17Z', 'M32,62H72V68H32Z']],
  C: [
    92,
    [
      'M88,33L84,33C80,14 70,5 56,5C36,5 27,22 27,50C27,78 36,95 56,95C72,95 82,86 86,70L90,70C87,90 74,101.5 52,101.5C20,101.5 3,80 3,50C3,20 20,-1.5 52,-1.5C66,-1.5 74,4 80,6C83,7 84,4 85,0L88,0Z',
    ],
  ],
  E: [84, [stem(12), 'M30,0H76V32H72Q69,8 50,6H30Z', 'M30,46H48Q56,45 56,34H60V64H56Q56,53 48,52H30Z', 'M30,94H52Q72,92 75,66H79L78,100H30Z']],
  H: [108, [stem(12), stem(74), 'M30,46H78V52H30Z']],
  K: [104, [stem(12), 'M33,62L74,5H64V0H98V5H82L33,73Z', 'M47,44L62,30L94,95H102V100H60V95H69Z']],
  L: [80, [stem(12), 'M30,94H50Q69,92 73,62H77L76,100H30Z']],
  M: [132, [thinStem(12), stem(98), 'M12,0H36L69,66L98,0H108L68,94H63Z']],
  N: [112, [thinStem(12), thinStem(90), 'M10,0H34L96,86V100H90L16,10Z']],
  O: [100, ['M50,-1.5C80,-1.5 98,21 98,50C98,79 80,101.5 50,101.5C20,101.5 2,79 2,50C2,21 20,-1.5 50,-1.5ZM50,4.5C33,4.5 26,22 26,50C26,78 33,95.5 50,95.5C67,95.5 74,78 74,50C74,22 67,4.5 50,4.5Z']],
  P: [82, [stem(12), bowl]],
  R: [98, [stem(12), bowl, 'M38,50H60L88,95H96V100H58V95H65Z']],
  S: [
    76,
    [
      'M63,31C59,14 48,4.5 35,4.5C23,4.5 17,10 17,18C17,28 27,32 42,39C62,48 74,56 74,73C74,91 60,101.5 41,101.5C28,101.5 20,96 14,94C11,93 9,95 8,100L5,100L5,66L9,66C13,84 24,95.5 39,95.5C52,95.5 58,89 58,81C58,70 48,66 33,59C14,50 4,42 4,27C4,10 17,-1.5 34,-1.5C46,-1.5 53,3 58,5C61,6 63,4 64,0L67,0L67,31Z',
    ],
  ],
  T: [92, [stem(35), 'M4,0H88V34H84Q80,8 62,6H30Q12,8 8,34H4Z']],
  X: [104, ['M4,0H42V5H34L94,95H102V100H62V95H68L10,5H4Z', 'M66,0H98V5H86L22,95H34V100H2V95H14L76,5H66Z']],
};

/**
 * Sets a line of capitals.
 * @param {string} text letters of LETTERS and spaces
 * @param {{x?: number, y?: number, height?: number, fill?: string, tracking?: number}} [options] y is the top of the letters
 * @returns {{width: number, markup: string}}
 */
export function line(text, { x = 0, y = 0, height = 100, fill = '#111', tracking = 5 } = {}) {
  let pen = 0;
  let shapes = '';
  for (const character of text) {
    const letter = LETTERS[character];
    if (letter === undefined) {
      pen += 44;
      continue;
    }
    const [width, paths] = letter;
    shapes += paths.map((d) => `<path fill-rule="evenodd" transform="translate(${pen})" d="${d}"/>`).join('');
    pen += width + tracking;
  }
  const scale = height / 100;
  return {
    width: (pen - tracking) * scale,
    markup: `<g fill="${fill}" transform="translate(${x} ${y}) scale(${scale})">${shapes}</g>`,
  };
}

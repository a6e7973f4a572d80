/** What `npm run test:sites` does more of than `npm test`. */

/** Whether every document of every site is read, in every edition, builds are repeated, and properties are tried four times as often. */
export const THOROUGH = process.env.WISPR_SITES === 'whole';

/** How often a program is killed at random moments. */
export const KILLS = THOROUGH ? 100 : 25;

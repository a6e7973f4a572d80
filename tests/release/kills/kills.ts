/** How often a program is killed at random moments: `npm test` kills at each step instead, one after the other. */
export const KILLS = 50;

/** How often a program is killed at random moments: 100 times by `npm run test:sites`. */
export const KILLS = Number(process.env.WISPR_KILLS ?? 25);

/** `WISPR_EVALUATE=quick`: fewer runs, and without what takes minutes. */
export const IS_QUICK = process.env.WISPR_EVALUATE === 'quick';

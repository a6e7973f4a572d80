/** Names that the scripts of this origin share. */

/** Page of what is kept. */
export const LIBRARY = '/-/library';

/** Name in the session of a window: when it was loaded again for the worker to answer, in milliseconds since 1970. Pages that the worker shows remove it. */
export const RELOADED = 'wispr-reloaded';

/** Member of the query of a document that a link saves: the name for it. */
export const SAVED_AS = 'wispr-save';

/** Asks the worker for the address at which the vault hands over keys, for a frame. Its value is the target that they are for, empty for all. */
export const KEYS_ADDRESS = 'wispr-keys';
/** Tells the worker what the next page will need, which the first did not get from it: addresses. */
export const AHEAD = 'wispr-ahead';
/** Tells a worker that waits to take over from the one at work. */
export const TAKE_OVER = 'wispr-take-over';

/** Names that the scripts of this origin share. */

/** In the session of a window: when it was loaded again for the worker to answer, in milliseconds since 1970. Pages that the worker shows remove it. */
export const RELOADED = 'wispr-reloaded';

/** In the query of a document that a link saves: the name for it. */
export const SAVED_AS = 'wispr-save';

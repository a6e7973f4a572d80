/** Names that the scripts of this origin share. */

/** In the session of a window: when it was loaded again for the worker to answer, in milliseconds since 1970. Pages that the worker shows remove it. */
export const RELOADED = 'wispr-reloaded';

/** Address at which the worker gives a document to be saved; its query has `path` and `name`. */
export const DOWNLOAD = '/-/download';

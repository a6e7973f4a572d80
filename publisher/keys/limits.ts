/** The bytes of the largest file of secrets that is read. */
export const MAXIMUM_SEALED_FILE_LENGTH = 16 * 1024 * 1024;

/**
 * Frees the memory of bytes that are no longer used. Left to be collected, up to 64 MiB of such memory wait (V8 14), and as every piece is
 * fresh then, ciphers take a third longer.
 *
 * @param memory - no longer used, in JavaScript or in a system call
 */
export function releaseMemory(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer) memory.transfer(0);
}

/** The same where bytes fill their memory, as most that are of some length do; where they are not alone in it, it stays. */
export function releaseIfAlone({ buffer, byteLength }: Uint8Array): void {
  if (buffer.byteLength === byteLength) releaseMemory(buffer);
}

/**
 * The same where bytes are the last ones of their memory, and most of it: what a system read in one go, behind the head of its answer. Must not be read any more
 * into what stands before them. Memory that Node.js shares out (`Buffer.poolSize`) is never meant: it never frees half of it.
 */
export function releaseWithHead({ buffer, byteOffset, byteLength }: Uint8Array): void {
  if (byteOffset + byteLength === buffer.byteLength && 2 * byteLength >= buffer.byteLength) releaseMemory(buffer);
}

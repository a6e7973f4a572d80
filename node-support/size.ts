/** `12 bytes`, `3.4 MiB`. */
export function size(bytes: number): string {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(units.length, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** step).toFixed(1)} ${units[step - 1]}`;
}

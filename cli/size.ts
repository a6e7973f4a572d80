import { count } from '../publisher/text.ts';

/** `12 bytes`, `3.4 MiB`. */
export function size(bytes: number): string {
  if (bytes < 1024) return count(bytes, 'byte');
  const units = ['KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(units.length, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** step).toFixed(1)} ${units[step - 1]}`;
}

/** Paths in the configuration, which are relative to the folder of its file: marked in the schema, and found by the mark. */
import { z } from 'zod';

const FORMAT = 'path';
/** Targets can be buckets. */
const URL_START = /^[a-z0-9]+:\/\//;

/** A file or folder. */
export const file = (description?: string) =>
  z
    .string()
    .min(1)
    .meta({ format: FORMAT, ...(description !== undefined && { description }) });

/** JSON Schema, as far as it is looked at. */
interface Schema {
  readonly format?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Resolves what the schema says is a path; URLs are none. @param from - makes a path absolute */
export function withPaths(value: unknown, schema: Schema | undefined, from: (path: string) => string): unknown {
  if (typeof value === 'string') {
    const isPath = [schema, ...(schema?.anyOf ?? [])].some((each) => each?.format === FORMAT);
    return isPath && !URL_START.test(value) ? from(value) : value;
  }
  if (Array.isArray(value)) return value.map((each) => withPaths(each, schema?.items, from));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, withPaths(each, schema?.properties?.[name], from)]),
  );
}

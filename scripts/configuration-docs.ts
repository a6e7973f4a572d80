// Writes the tables of settings in docs/configuration.md from the schema that wispr checks. tests/docs/pages.test.ts says when it is out of date.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MOST } from '../keyserver/config/limits.ts';
import { keyServerJsonSchema } from '../keyserver/config/schema.ts';
import { configurationJsonSchema } from '../publisher/workspace/configuration/schema.ts';

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

const FILE = fileURLToPath(new URL('../docs/configuration.md', import.meta.url));

if (import.meta.main) writeFileSync(FILE, withCurrentTables(readFileSync(FILE, 'utf8')));

/** The page, with each part between `<!-- settings of NAME -->` and `<!-- end -->` made from the schema of that name. */
export function withCurrentTables(page: string): string {
  const schemas: Record<string, Schema> = {
    'wispr.json': configurationJsonSchema() as Schema,
    'keyserver.json': keyServerJsonSchema() as Schema,
  };
  return page.replace(
    /(<!-- settings of (\S+) -->\n).*?(<!-- end -->)/gs,
    (_, start: string, name: string, end: string) => {
      const rows = withoutRepeats(rowsOf(schemas[name] ?? {})).map((cells) => `| ${cells.join(' | ')} |\n`);
      return `${start}\n| setting | value (default) | meaning |\n|---|---|---|\n${rows.join('')}\n${end}`;
    },
  );
}

/** Writes one row a setting; members of objects in it, and of objects in its list, follow as `setting.member`. @param whole - that may be left out */
function rowsOf(schema: Schema, prefix = '', whole?: string): string[][] {
  const described = Object.entries(schema.properties ?? {}).filter(
    ([, property]) => meaningOf(property) !== '' || property.properties,
  );
  return described.flatMap(([name, property]) => {
    const inner = property.type === 'array' ? property.items : property;
    const required = (schema.required ?? []).includes(name) && property.default === undefined;
    const standard = required ? `required${whole === undefined ? '' : ` in \`${whole}\``}` : defaultOf(property);
    const value = [allowedIn(property), standard && `(${standard})`].filter(Boolean).join(' ');
    const cells = [`\`${prefix}${name}\``, value, meaningOf(property)];
    const left = required ? whole : `${prefix}${name}`;
    return [cells, ...rowsOf(inner ?? {}, `${prefix}${name}.`, left)];
  });
}

/** Has a setting that stood there before, in another object, lead to it. */
function withoutRepeats(rows: readonly string[][]): string[][] {
  const known = new Map<string, string>();
  return rows.map(([name = '', value = '', meaning = '']) => {
    const [last = ''] = name.replaceAll('`', '').split('.').slice(-1);
    const before = known.get(`${last} ${meaning}`);
    if (before === undefined) known.set(`${last} ${meaning}`, name);
    return [name, value, before === undefined ? meaning : `As ${before}.`];
  });
}

function allowedIn(property: Schema): string {
  if (property.anyOf) {
    const kinds = new Set(property.anyOf.map(allowedIn));
    return [...kinds].join(property.anyOf.every((one) => 'const' in one) ? ', ' : ', or ');
  }
  if (property.const !== undefined) return `\`${JSON.stringify(property.const)}\``;
  if (property.enum) return property.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  if (property.type === 'array') return `list${property.maxItems ? ` of up to ${property.maxItems}` : ''}`;
  if (property.type === 'integer' && property.maximum === MOST) return 'count';
  if (property.type === 'integer') return `${property.minimum} to ${property.maximum}`;
  return property.title ?? (property.format === 'uri' ? 'URL' : (property.type ?? ''));
}

function defaultOf(property: Schema): string {
  const value = property.default;
  return value === undefined || typeof value === 'object' ? '' : `\`${JSON.stringify(value)}\``;
}

function meaningOf(property: Schema): string {
  const inner = property.type === 'array' ? property.items?.description : undefined;
  return (property.description ?? inner ?? '').replaceAll('|', '\\|');
}

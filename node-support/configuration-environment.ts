/** Members of a configuration that environment variables give, in place of the file's. */
import { z } from 'zod';

/** Members of a JSON Schema that are needed to name its members. */
interface Described {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Described>>;
}

/** The variables that count: those whose name begins with the prefix. */
export interface Environment {
  readonly prefix: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

export interface EnvironmentMember {
  readonly variable: string;
  readonly path: readonly string[];
  readonly value: unknown;
}

/**
 * Reads the environment: `listen.port` is `PREFIX_LISTEN__PORT`, `masterKey` is `PREFIX_MASTER_KEY`. A text stands as it is, anything else as
 * JSON.
 *
 * @returns `unknown` has the variables with the prefix that name no member
 */
export function membersGiven(
  { prefix, variables }: Environment,
  schema: z.ZodType,
): { readonly given: EnvironmentMember[]; readonly unknown: string[] } {
  const members = membersOf(z.toJSONSchema(schema, { io: 'input' }) as Described);
  const byVariable = new Map(members.map((member) => [variableOf(prefix, member.path), member]));
  const names = Object.keys(variables).filter((name) => name.startsWith(prefix) && variables[name] !== undefined);
  const given = names.flatMap((variable) => {
    const member = byVariable.get(variable);
    return member ? [{ variable, path: member.path, value: parsed(variables[variable] ?? '', member.type) }] : [];
  });
  return { given, unknown: names.filter((name) => !byVariable.has(name)) };
}

/** Puts members into a configuration, over those that are there. */
export function withMembers(configuration: unknown, given: readonly EnvironmentMember[]): unknown {
  const whole = structuredClone(configuration);
  for (const { path, value } of given) {
    let at = whole as Record<string, unknown>;
    for (const step of path.slice(0, -1)) {
      const next = at[step];
      at[step] = typeof next === 'object' && next !== null ? next : {};
      at = at[step] as Record<string, unknown>;
    }
    at[path.at(-1) ?? ''] = value;
  }
  return whole;
}

function membersOf(schema: Described, path: readonly string[] = []): { path: string[]; type: string | undefined }[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const here = [...path, name];
    return member.properties ? membersOf(member, here) : [{ path: here, type: member.type }];
  });
}

function variableOf(prefix: string, path: readonly string[]): string {
  return prefix + path.map((step) => step.replace(/[A-Z]/g, '_$&').toUpperCase()).join('__');
}

function parsed(text: string, type: string | undefined): unknown {
  if (type === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Reads configuration files: JSON with comments, checked member by member, with messages that name the line. */
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { z } from 'zod';
import { fromUtf8 } from '../core/encoding/bytes.ts';
import { type Environment, membersGiven, withMembers } from './configuration-environment.ts';
import { nearestWords } from './nearest-words.ts';

const MAXIMUM_LENGTH = 1024 * 1024;
/** Number of things that one message names. */
const MOST_PROBLEMS = 20;

type Issue = z.core.$ZodIssue;

/** Members of a JSON Schema that are needed to name those of an object. */
interface Described {
  readonly properties?: Readonly<Record<string, Described>>;
  readonly items?: Described;
  readonly additionalProperties?: Described;
}

/** Says in the words of the caller's layer that the file is not as it has to be. */
export type Refuse = (message: string) => Error;

/** The text of a configuration file, without a byte order mark. @param file - how messages name it */
export function configurationText(bytes: Uint8Array, file: string, refuse: Refuse): string {
  const text = bytes.length <= MAXIMUM_LENGTH ? fromUtf8(bytes) : undefined;
  if (text === undefined) throw refuse(`${file} is not a text file in UTF-8`);
  return text.replace(/^\uFEFF/, '');
}

/**
 * Checks the text of a configuration.
 *
 * @param file - how messages name it
 * @param environment - variables whose members take the place of the text's
 * @throws what `refuse` makes of everything that is wrong, each thing on a line of its own, with its line in the file and the member; of a text
 *   that is not JSON, of the first thing
 */
export function parseConfigurationText<Schema extends z.ZodType>(
  text: string,
  file: string,
  schema: Schema,
  refuse: Refuse,
  environment?: Environment,
): z.output<Schema> {
  const refuseAt = (...problems: readonly Problem[]) => refuse(describeProblems(problems, text, file));
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [error] = errors;
  if (error) throw refuseAt({ offset: error.offset, message: `not JSON with comments (${describeParseError(error)})` });
  if (tree?.type !== 'object') throw refuseAt({ offset: 0, message: 'an object { … } was expected' });
  const duplicates = findDuplicates(tree).map(({ offset, value }) => ({
    offset,
    message: `"${value}" stands there twice`,
  }));
  const { given, unknown } = environment ? membersGiven(environment, schema) : { given: [], unknown: [] };
  const strangers = unknown.map((variable) => ({ variable, message: 'names no member of the configuration' }));
  const result = schema.safeParse(withMembers(getNodeValue(tree), given));
  if (result.success && duplicates.length + strangers.length === 0) return result.data;
  const issues = result.error?.issues.flatMap(eachKey) ?? [];
  // The cause is a misspelt member, and that another one is missing the consequence.
  const isUnknown = ({ code }: Issue) => code === 'unrecognized_keys';
  const ordered = [...issues.filter(isUnknown), ...issues.filter((issue) => !isUnknown(issue))];
  throw refuseAt(
    ...duplicates,
    ...strangers,
    ...ordered.map((issue) => {
      const { variable } = given.find(({ path }) => path.every((step, index) => issue.path[index] === step)) ?? {};
      const present = variable !== undefined || findNodeAtLocation(tree, locationOf(issue)) !== undefined;
      return { offset: offsetOf(tree, issue), variable, message: describeIssue(issue, present, schema) };
    }),
  );
}

/** Fault in the configuration, and its position in the text or variable. */
interface Problem {
  readonly offset?: number;
  readonly variable?: string | undefined;
  readonly message: string;
}

/** Writes one line for each; a thousand wrong members of one list have one cause. */
function describeProblems(problems: readonly Problem[], text: string, file: string): string {
  const lines = problems.slice(0, MOST_PROBLEMS).map(({ offset = 0, variable, message }) => {
    if (variable !== undefined) return `${variable}: ${withoutControls(message)}`;
    const line = text.slice(0, offset).split('\n').length;
    return `${file}, line ${line}: ${withoutControls(message)}`;
  });
  const more = problems.length - lines.length;
  return [...lines, ...(more > 0 ? [`${file}: ${more} more are wrong`] : [])].join('\n');
}

/** Splits the issue in which unknown members of one object come. */
function eachKey(issue: Issue): Issue[] {
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ ...issue, keys: [key] })) : [issue];
}

/** Replaces what a terminal would act on. */
function withoutControls(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?');
}

function describeParseError({ error }: ParseError): string {
  return printParseErrorCode(error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
}

function findDuplicates(node: Node): Node[] {
  const names = new Set<unknown>();
  return (node.children ?? []).flatMap((child) => {
    const [name] = node.type === 'object' ? (child.children ?? []) : [];
    const isSecond = name !== undefined && names.has(name.value);
    if (name) names.add(name.value);
    return [...(isSecond ? [name] : []), ...findDuplicates(child)];
  });
}

function locationOf(issue: Issue): (string | number)[] {
  return issue.path.filter((step) => typeof step !== 'symbol');
}

/** Finds where in the text an issue is: the unknown member, the wrong value, or the object that lacks one. */
function offsetOf(tree: Node, issue: Issue): number {
  const path = locationOf(issue);
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  for (let length = path.length; length >= 0; length--) {
    const node = findNodeAtLocation(tree, [...path.slice(0, length), ...(unknown === undefined ? [] : [unknown])]);
    if (node) return (unknown === undefined ? node : (node.parent ?? node)).offset;
  }
  return 0;
}

function describeIssue(issue: Issue, present: boolean, schema: z.ZodType): string {
  const member = issue.path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? String(step) : `${text}.${String(step)}`;
  }, '');
  if (issue.code === 'unrecognized_keys') {
    const where = member ? `"${member}" has` : 'there is';
    const [key = ''] = issue.keys;
    const known = knownMembers(schema, issue.path);
    const near = nearestWords(key, known);
    const help = near.length > 0 ? `did you mean ${near.join(' or ')}?` : `the members are ${known.join(', ')}`;
    return `${where} no member "${key}"; ${help}`;
  }
  return present ? `"${member}" ${describeValueIssue(issue)}` : `"${member}" is missing`;
}

function describeValueIssue(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be of type ${issue.expected}`;
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int' ? `must be at least ${issue.minimum}` : 'is empty';
    case 'too_big':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `must be at most ${issue.maximum}`
        : `is too large: at most ${issue.maximum}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    case 'invalid_key':
      return issue.issues[0]?.message ?? issue.message;
    default:
      return issue.message;
  }
}

function knownMembers(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  let at: Described | undefined = z.toJSONSchema(schema, { io: 'input' }) as Described;
  for (const step of path) {
    at = typeof step === 'number' ? at?.items : (at?.properties?.[String(step)] ?? at?.additionalProperties);
  }
  return Object.keys(at?.properties ?? {}).filter((name) => name !== '$schema');
}

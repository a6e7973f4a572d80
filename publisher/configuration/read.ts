/** Reads `wispr.json`: JSON with comments, checked member by member, with messages that name the line. */
import { readFile } from 'node:fs/promises';
import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import type { z } from 'zod';
import { fromUtf8 } from '../../core/encoding/bytes.ts';
import { PublishError, systemCode, systemReason } from '../errors.ts';
import { printable } from '../text.ts';
import { type Configuration, configurationSchema } from './schema.ts';

const MAXIMUM_LENGTH = 1024 * 1024;

type Issue = z.core.$ZodIssue;

/**
 * Reads and checks a configuration file.
 *
 * @throws PublishError `configuration-missing`, `configuration-invalid`
 */
export async function readConfiguration(file: string): Promise<Configuration> {
  return parseConfiguration(await readText(file), file);
}

/**
 * Checks the text of a configuration.
 *
 * @param file - how messages name it
 * @throws PublishError `configuration-invalid`, naming line and member of the first thing that is wrong
 */
export function parseConfiguration(text: string, file: string): Configuration {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const refuse = (offset: number, message: string) => {
    const line = text.slice(0, offset).split('\n').length;
    return new PublishError('configuration-invalid', `${file}, line ${line}: ${printable(message)}`);
  };
  const [error] = errors;
  if (error) throw refuse(error.offset, `not JSON with comments (${describeParseError(error)})`);
  if (tree?.type !== 'object') throw refuse(0, 'an object { … } was expected');
  const duplicate = findDuplicate(tree);
  if (duplicate) throw refuse(duplicate.offset, `"${duplicate.value}" stands there twice`);
  const result = configurationSchema.safeParse(getNodeValue(tree));
  if (result.success) return result.data;
  // A misspelt member is the cause, and that another one is missing the consequence.
  const unknown = result.error.issues.find(({ code }) => code === 'unrecognized_keys');
  const issue = unknown ?? (result.error.issues[0] as Issue);
  const present = findNodeAtLocation(tree, locationOf(issue)) !== undefined;
  throw refuse(offsetOf(tree, issue), describeIssue(issue, present));
}

async function readText(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT' && systemCode(error) !== 'ENOTDIR') {
      throw new PublishError('configuration-missing', `cannot read ${file}: ${systemReason(error)}`, {
        cause: error,
        typed: true,
      });
    }
    const hint = 'run "wispr init URL" to make one, or name the directory where it is';
    throw new PublishError('configuration-missing', `there is no ${file}`, { cause: error, hint, typed: true });
  });
  const text = bytes.length <= MAXIMUM_LENGTH ? fromUtf8(bytes) : undefined;
  if (text === undefined) throw new PublishError('configuration-invalid', `${file} is not a text file in UTF-8`);
  return text.replace(/^\uFEFF/, '');
}

function describeParseError({ error }: ParseError): string {
  return printParseErrorCode(error)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
}

function findDuplicate(node: Node): Node | undefined {
  const names = new Set<unknown>();
  for (const child of node.children ?? []) {
    const [name] = node.type === 'object' ? (child.children ?? []) : [];
    if (name && names.has(name.value)) return name;
    if (name) names.add(name.value);
    const deeper = findDuplicate(child);
    if (deeper) return deeper;
  }
  return undefined;
}

function locationOf(issue: Issue): (string | number)[] {
  return issue.path.filter((step) => typeof step !== 'symbol');
}

/** Where in the text an issue is: the unknown member, the wrong value, or the object that lacks one. */
function offsetOf(tree: Node, issue: Issue): number {
  const path = locationOf(issue);
  const unknown = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
  for (let length = path.length; length >= 0; length--) {
    const node = findNodeAtLocation(tree, [...path.slice(0, length), ...(unknown === undefined ? [] : [unknown])]);
    if (node) return (unknown === undefined ? node : (node.parent ?? node)).offset;
  }
  return 0;
}

function describeIssue(issue: Issue, present: boolean): string {
  const member = issue.path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? String(step) : `${text}.${String(step)}`;
  }, '');
  if (issue.code === 'unrecognized_keys') {
    const where = member ? `"${member}" has` : 'there is';
    return `${where} no member "${issue.keys[0]}"; the members are ${knownMembers(issue.path).join(', ')}`;
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
      return `is too large: at most ${issue.maximum}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}`;
    default:
      return issue.message;
  }
}

function knownMembers([first]: readonly PropertyKey[]): string[] {
  const { shape } = configurationSchema;
  if (first === 'sets') return ['name', 'path'];
  if (first === 'fallback') return ['redirectAfter'];
  return Object.keys(shape).filter((name) => name !== '$schema');
}

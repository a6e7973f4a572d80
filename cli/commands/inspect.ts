import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { isEncrypted } from '../../core/object/header.ts';
import { printable } from '../../node-support/printable.ts';
import { count } from '../../publisher/text.ts';
import { type Inspection, inspectFile } from '../../publisher/verify/inspect.ts';
import { JSON_OPTION } from '../io/common-options.ts';
import { print, say, UsageError } from '../io/voice.ts';

export function addInspectCommand(program: Command): void {
  program
    .command('inspect')
    .summary('show the head of a protected object')
    .description('show the head of a .protected file or of a page that carries one; it proves nothing')
    .argument('<file>', 'the protected object')
    .option(...JSON_OPTION)
    .action(inspect);
}

async function inspect(file: string, { json }: { json?: boolean }): Promise<void> {
  if (!existsSync(file)) throw new UsageError(`${file}: no such file`, 'check the path');
  const inspection = await inspectFile(file);
  print(json ? JSON.stringify({ ...inspection, proved: false }) : describe(file, inspection));
  if (!json) say('none of this is proved; "wispr verify" checks it against the publisher\'s key');
}

function describe(file: string, inspection: Inspection): string {
  const { header, carrier } = inspection;
  const rows = isEncrypted(header)
    ? [
        ['document', 'encrypted'],
        ['set key', header.set],
      ]
    : [['document', 'signed, not encrypted'], ...Object.entries(header.metadata).map(describeMetadata)];
  const all = [
    ['carrier', carrier === 'html' ? 'HTML page' : 'bare'],
    ['site', header.site],
    ['path', header.path],
    ...rows,
    ['publisher key', header.publisher],
    ['head', count(inspection.headLength, 'byte')],
    [
      'payload',
      `${count(header.payloadLength, 'byte')} in ${count(inspection.blocks, 'block')} of ${count(header.blockChunks, 'chunk')}`,
    ],
    ['this file', describeLength(inspection)],
  ];
  const lines = all.map(([name = '', value = '']) => `  ${name.padEnd(14)} ${printable(value)}`);
  return [`${printable(file)}: protected object, version 1`, ...lines].join('\n');
}

function describeMetadata([name, value]: [string, unknown]): string[] {
  const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  const shown = name === 'lastModified' ? new Date(Number(value) * 1000).toISOString() : value;
  return [words, typeof shown === 'object' ? JSON.stringify(shown) : String(shown)];
}

function describeLength({ header, bytesAfterHead, expectedAfterHead }: Inspection): string {
  if (bytesAfterHead !== expectedAfterHead) {
    return `DAMAGED: ${count(bytesAfterHead, 'byte')} follow the head, ${count(expectedAfterHead, 'byte')} should`;
  }
  return isEncrypted(header) ? 'whole, by its length' : 'the head alone; the content is the ordinary file beside it';
}

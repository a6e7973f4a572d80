import type { Command } from 'commander';
import { readProgramFile } from '../../node-support/program-files.ts';
import { print } from '../io/voice.ts';

export function addLicensesCommand(program: Command): void {
  program
    .command('licenses')
    .description('print the licences of wispr and of what is bundled with it')
    .action(() => print(readProgramFile('../../dist/web-reader/licenses.txt', import.meta.url).toString()));
}

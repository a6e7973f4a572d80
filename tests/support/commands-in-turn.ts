/** Runs commands of `wispr` one after the other, each in its folder, in one process. The argument is JSON: `[folder, words][]`. */
import { COMMANDS } from '../../cli/commands/index.ts';
import { runCommandLine } from '../../cli/run.ts';

const [, , text = '[]'] = process.argv;
for (const [folder, argv] of JSON.parse(text) as [string, string[]][]) {
  process.chdir(folder);
  const code = await runCommandLine(COMMANDS, { argv, cwd: folder });
  if (code !== 0) throw new Error(`${argv.join(' ')}: ${code}`);
}

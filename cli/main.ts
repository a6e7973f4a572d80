/** The `wispr` command. Each command lives in `commands/`; this file alone sets the exit code of the process. */
import { COMMANDS } from './commands/index.ts';
import { outliveOutputErrors } from './io/voice.ts';
import { runCommandLine } from './run.ts';

outliveOutputErrors();
process.exitCode = await runCommandLine(COMMANDS);

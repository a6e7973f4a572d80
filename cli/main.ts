/** The `wispr` command. Each command lives in `commands/`; this file and single.ts alone set the exit code of the process. */

import { COMMANDS } from './commands/index.ts';
import { outliveOutputErrors } from './io/voice.ts';
import { runCommandLine } from './run.ts';

outliveOutputErrors();
process.exitCode = await runCommandLine(COMMANDS);

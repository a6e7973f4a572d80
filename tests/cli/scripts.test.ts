/** The command line: tests/cli/scripts. */
import { runScripts } from '../support/scripts/run.ts';

runScripts(`${import.meta.dirname}/scripts`);

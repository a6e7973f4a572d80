/** The commands beside a running key server: tests/keyserver/scripts. */
import { runScripts } from '../support/scripts/run.ts';

runScripts(`${import.meta.dirname}/scripts`);

/** Where in a template a slip in its JavaScript is: eta says only what V8 says, and V8 sees what eta made of the template. */
import { Script } from 'node:vm';
import { Eta } from 'eta';

/** Writes into what it compiles which line each tag stands in. */
const eta = new Eta({ debug: true });

/** The line of the tag at which the text stops being JavaScript; `undefined` if it does not. The slip is there, or before it. */
export function lineOfSlip(template: string): number | undefined {
  const code = `(function (it, options) {${eta.compileToString(template)}})`;
  try {
    new Script(code); // compiled, and not run
    return undefined;
  } catch (error) {
    const [, at] = /:(\d+)\n/.exec((error instanceof Error && error.stack) || '') ?? [];
    const before = code.split('\n').slice(0, Number(at));
    const last = before.findLast((line) => LINE_MARK.test(line));
    return last === undefined ? undefined : Number(LINE_MARK.exec(last)?.[1]);
  }
}

const LINE_MARK = /^__eta\.line=(\d+)$/;

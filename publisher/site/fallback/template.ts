/**
 * Makes fallback pages: from wispr's own template, so that a page found on a host can be made again and compared
 * (`recognise.ts`), or from one of the publisher's, which is tried out before anything is made with it.
 */
import { readFile } from 'node:fs/promises';
import { Script } from 'node:vm';
import { Eta } from 'eta';
import { fromUtf8 } from '../../../core/encoding/bytes.ts';
import { printable } from '../../../node-support/printable.ts';
import type { Bar } from '../../../teaser/bar.ts';
import type { FallbackPage } from '../../../teaser/fallback-page.ts';
import { builtInTemplate, type FallbackTemplate, templates, valuesOf } from '../../../teaser/render.ts';
import { PublishError, whenUnreadable } from '../../errors.ts';
import { problemOfTemplate } from './trial.ts';

/** Milliseconds for a template to make the few pages by which it is tried; it takes some. */
const TRIAL_TIME = 20_000;

/** Bytes of the largest fallback page: long paths stand in it several times. */
export const MAXIMUM_FALLBACK_PAGE = 128 * 1024;

/** Mark at the end of every page that a publisher's own template made: it tells mirrors that they cannot make it again. */
export const OWN_TEMPLATE_MARK = '<!-- wispr fallback page, from a template of the publisher -->\n';

const MAXIMUM_TEMPLATE = 256 * 1024;

/**
 * @param file - how it is opened, and how messages name it; `undefined` for wispr's own
 * @throws PublishError `configuration-invalid`
 */
export async function readFallbackTemplate(file: string | undefined): Promise<FallbackTemplate> {
  if (file === undefined) return builtInTemplate;
  const bytes = await readFile(file).catch(whenUnreadable('configuration-invalid', file));
  const text = bytes.length <= MAXIMUM_TEMPLATE ? fromUtf8(bytes) : undefined;
  if (text === undefined) throw refused(file, `it is not a text in UTF-8 of at most ${MAXIMUM_TEMPLATE} bytes`);
  return compileFallbackTemplate(text, file);
}

/**
 * Compiles a publisher's template, and tries it out with plain, with hostile and with empty values. It is a program of the publisher's, and
 * runs with the rights of `wispr protect`; what it makes of documents' words is what is not trusted.
 *
 * @throws PublishError `configuration-invalid`
 */
export function compileFallbackTemplate(text: string, file: string, trialTime = TRIAL_TIME): FallbackTemplate {
  const run = <Result>(work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      throw error instanceof PublishError ? error : refused(file, reasonOf(error, text), error);
    }
  };
  const compiled = run(() => templates.compile(text));
  const make = (page: FallbackPage, bar: Bar) => run(() => templates.render(compiled, valuesOf(page, bar)));
  const problem = run(() => within(trialTime, () => problemOfTemplate(make)));
  if (problem !== undefined) throw refused(file, problem);
  return {
    render: (page, bar) => {
      const html = make(page, bar) + OWN_TEMPLATE_MARK;
      if (!html.includes(templates.config.escapeFunction(page.reading))) {
        throw refused(file, `its page for ${page.reading} has no Read link`);
      }
      if (Buffer.byteLength(html) > MAXIMUM_FALLBACK_PAGE) {
        throw refused(file, `its page for ${page.reading} is longer than ${MAXIMUM_FALLBACK_PAGE} bytes`);
      }
      return html;
    },
  };
}

/** Says what is wrong with a template. For its JavaScript, eta says so in the third line, before the code that it made of it, and not where. */
function reasonOf(error: unknown, template: string): string {
  const [first = '', , third = ''] = String(error instanceof Error ? error.message : error).split('\n', 3);
  const line = first === BAD_SYNTAX ? lineOfMistake(template) : undefined;
  return printable(line === undefined ? first : `line ${line}, or before it: ${third}`);
}

/** Does what may have no end, as a loop in a template, which would keep all else waiting, and signals too. @throws Error when its time is over */
function within<Result>(milliseconds: number, work: () => Result): Result {
  try {
    return WORK.runInNewContext({ work }, { timeout: milliseconds });
  } catch (error) {
    // The error is one of the other context.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new Error(`it makes no page in ${milliseconds / 1000} s`, { cause: error });
  }
}

const WORK = new Script('work()');

const BAD_SYNTAX = 'Bad template syntax';

function refused(file: string, reason: string, cause?: unknown): PublishError {
  return new PublishError('configuration-invalid', `the template ${file} cannot be used: ${reason}`, { cause });
}

/** Writes into what it compiles which line each tag stands in. */
const debugging = new Eta({ debug: true });

/**
 * Finds a mistake in the JavaScript of a template: eta says only what V8 says, and V8 sees what eta made of the template.
 *
 * @returns the line of the tag at which the text stops being JavaScript: the mistake is there, or before it
 */
function lineOfMistake(template: string): number | undefined {
  const code = `(function (it, options) {${debugging.compileToString(template)}})`;
  try {
    new Script(code); // compiles, and does not run
    return undefined;
  } catch (error) {
    const [, at] = /:(\d+)\n/.exec((error instanceof Error && error.stack) || '') ?? [];
    const before = code.split('\n').slice(0, Number(at));
    const last = before.findLast((line) => LINE_MARK.test(line));
    return last === undefined ? undefined : Number(LINE_MARK.exec(last)?.[1]);
  }
}

const LINE_MARK = /^__eta\.line=(\d+)$/;

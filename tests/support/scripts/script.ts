/**
 * Scripts that test the command line, in the manner of Go's testscript: text files with commands, what is expected of them, and files in txtar form.
 *
 * The first line is a comment, and the name of the test. Each script has a folder of its own, in which its files lie (mode 600); a section
 * `-- NAME --` begins a file. Words are separated by spaces; one in single quotes may hold spaces, and '' in it is a quotation mark. `${NAME}` is the
 * value of a variable: `dir` is the folder, `as` is a `--passphrase-file` beside it, others come from `let` and from fixtures. Commands run in this
 * process; all have to speak with the one voice (every line on standard error begins with `wispr: ` and has no full stop), and none may print what
 * `secret` names. `wispr ARG...` has to exit with 0, `! 2 wispr ARG...` with 2. The verbs stand in verbs.ts; what a script may have around it, in
 * fixtures.ts, reader.ts, identity.ts and keyserver.ts.
 */
export interface Script {
  /** Name. */
  readonly file: string;
  readonly title: string;
  readonly lines: readonly Line[];
  readonly files: ReadonlyMap<string, string>;
}

interface Line {
  readonly number: number;
  readonly text: string;
}

export function parseScript(file: string, text: string): Script {
  const [commands = '', ...sections] = text.split(/^(?=-- \S+ --\n)/m);
  const lines = commands.split('\n').map((text, index) => ({ number: index + 1, text }));
  const files = sections.map((section): [string, string] => {
    const [header = '', ...content] = section.split('\n');
    return [header.slice(3, -3), content.join('\n')];
  });
  return {
    file,
    title: (lines[0]?.text ?? '').replace(/^# (.)|\.$/g, (_, first = '') => first.toLowerCase()),
    lines: lines.filter(({ text }) => text !== '' && !text.startsWith('#')),
    files: new Map(files),
  };
}

/** @throws Error for a variable that there is not, and for a quotation that does not end */
export async function wordsOf(
  line: string,
  variables: ReadonlyMap<string, string | (() => Promise<string>)>,
): Promise<string[]> {
  let text = line;
  for (const [all, name = ''] of line.matchAll(/\$\{(\w+)\}/g)) {
    const value = variables.get(name);
    if (value === undefined) throw new Error(`there is no variable ${name}`);
    const expanded = typeof value === 'string' ? value : await value();
    text = text.replace(all, () => expanded);
  }
  const words = text.match(/(?:'(?:[^']|'')*'|[^\s'])+/g) ?? [];
  if (words.join('').replace(/\s/g, '') !== text.replace(/\s/g, '')) throw new Error('a quotation does not end');
  return words.map((word) => word.replace(/'((?:[^']|'')*)'/g, (_, quoted: string) => quoted.replaceAll("''", "'")));
}
